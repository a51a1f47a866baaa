"""CertificateApproval and CertificateSigning: who decides on a certificate request must be allowed to for its signer.

The right is `approve` or `sign` on `signers` by name, or on all of a domain (`kubernetes.io/*`).
"""

from __future__ import annotations

from apiserver.admission.chain import UPDATE, Attributes, Plugin
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, Authorizer

REQUESTS = "certificatesigningrequests.certificates.k8s.io"

_GROUP = "certificates.k8s.io"


class CertificateApproval(Plugin):
    operations = frozenset({UPDATE})
    resources = frozenset({REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        """The signer is the stored one: the request may not be turned into another's on the way."""
        if attributes.subresource != "approval":
            return
        signer = _signer_of(attributes)
        if not _may(self._authorizer, attributes.user, "approve", signer):
            raise attributes.forbidden(f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning(Plugin):
    operations = frozenset({UPDATE})
    resources = frozenset({REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "status" or not _is_decided_on(attributes):
            return
        signer = _signer_of(attributes)
        if not _may(self._authorizer, attributes.user, "sign", signer):
            raise attributes.forbidden(f'user not permitted to sign requests with signerName "{signer}"')


def _is_decided_on(attributes: Attributes) -> bool:
    new, old = (attributes.object or {}).get("status") or {}, (attributes.old_object or {}).get("status") or {}
    return any((new.get(field) or None) != (old.get(field) or None) for field in ("certificate", "conditions"))


def _signer_of(attributes: Attributes) -> str:
    return ((attributes.old_object or {}).get("spec") or {}).get("signerName", "")


def _may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    domain = signer.partition("/")[0]
    return any(
        authorizer.authorize(Access(user, verb, _GROUP, "*", "signers", name=name)).allowed
        for name in (signer, f"{domain}/*")
    )
