"""What a token in a Secret of type kubernetes.io/service-account-token says (pkg/serviceaccount/legacy.go, v1.36).

Such a token has no end and no audience: it is good as long as its Secret holds it.
"""

from __future__ import annotations

from datetime import datetime

from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, namespace_of, uid_of
from kubeloop.tokens.jwt import Claims

ISSUER = "kubernetes/serviceaccount"
SECRET_TYPE = "kubernetes.io/service-account-token"

# Annotations of the Secret, which say whose token it is.
ACCOUNT_NAME, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"

# Labels of the Secret: the day its token was last used, and the day since when it is no longer good.
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
# The config map that says since which day uses are noted.
TRACKING_NAMESPACE, TRACKING = "kube-system", "kube-apiserver-legacy-service-account-token-tracking"
TRACKING_SINCE = "since"

_PREFIX = "kubernetes.io/serviceaccount"
NAMESPACE_CLAIM = f"{_PREFIX}/namespace"
SECRET_CLAIM = f"{_PREFIX}/secret.name"
NAME_CLAIM = f"{_PREFIX}/service-account.name"
UID_CLAIM = f"{_PREFIX}/service-account.uid"


def claims_of(account: ReadOnlyObject, secret: ReadOnlyObject) -> Claims:
    return {
        "iss": ISSUER,
        NAMESPACE_CLAIM: namespace_of(account),
        SECRET_CLAIM: name_of(secret),
        NAME_CLAIM: name_of(account),
        UID_CLAIM: uid_of(account),
        "sub": f"system:serviceaccount:{namespace_of(account)}:{name_of(account)}",
    }


def day_of(moment: datetime) -> str:
    """The day as those labels write it; days sort as their texts do."""
    return moment.strftime("%Y-%m-%d")


def is_day(text: str) -> bool:
    try:
        return len(text) == 10 and datetime.strptime(text, "%Y-%m-%d") is not None
    except ValueError:
        return False
