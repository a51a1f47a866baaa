"""The tokens in Secrets of type kubernetes.io/service-account-token, which the loops write.

They are good as long as the Secret holds them and the account exists (pkg/serviceaccount/legacy.go, v1.36).
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence

from apiserver.auth.authentication import Identity, TokenRefused, service_account_user
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.verification import Verification, shared_audiences
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import ReadOnlyObject, is_being_deleted, labels_of, uid_of
from kubeloop.tokens.jwt import Claims
from kubeloop.tokens.legacy import INVALID_SINCE, ISSUER, NAME_CLAIM, NAMESPACE_CLAIM, SECRET_CLAIM, UID_CLAIM

# What a token must say, and how its absence is told.
_CLAIMS = (
    ("sub", "sub"),
    (NAMESPACE_CLAIM, "namespace"),
    (SECRET_CLAIM, "secretName"),
    (NAME_CLAIM, "serviceAccountName"),
    (UID_CLAIM, "serviceAccountUID"),
)


class LegacyTokens:
    """A TokenSource. `audiences` are this server's own: the tokens name none. `used` is told whose token was used."""

    def __init__(
        self,
        reader: Reader,
        keyring: Keyring,
        audiences: Sequence[str],
        used: Callable[[ReadOnlyObject], None] = lambda secret: None,
    ) -> None:
        self._reader, self._audiences, self._used = reader, audiences, used
        self._verification = Verification(keyring, (ISSUER,))

    def identify(self, token: str, audiences: Sequence[str]) -> Identity | None:
        claims = self._verification.claims_of(token)
        if claims is None:
            return None
        shared = shared_audiences(claims, self._audiences, audiences)
        _check_complete(claims)
        namespace, name, uid = claims[NAMESPACE_CLAIM], claims[NAME_CLAIM], claims[UID_CLAIM]
        secret = self._secret_with(token, namespace, claims[SECRET_CLAIM])
        self._check_account(namespace, name, uid)
        self._used(secret)
        if labels_of(secret).get(INVALID_SINCE):
            raise TokenRefused(_marked_invalid(namespace, claims[SECRET_CLAIM], name))
        return Identity(service_account_user(namespace, name, uid), shared)

    def _secret_with(self, token: str, namespace: str, name: str) -> ReadOnlyObject:
        secret = self._reader.get("secrets", namespace, name)
        if secret is None or is_being_deleted(secret):
            raise TokenRefused("Token has been invalidated")
        held = base64.b64decode((secret.get("data") or {}).get("token") or "")
        if not hmac.compare_digest(held, token.encode()):
            raise TokenRefused("Token does not match server's copy")
        return secret

    def _check_account(self, namespace: str, name: str, uid: str) -> None:
        account = self._reader.get("serviceaccounts", namespace, name)
        if account is None:
            raise TokenRefused(f'serviceaccounts "{name}" not found')
        if is_being_deleted(account):
            raise TokenRefused(f"ServiceAccount {namespace}/{name} has been deleted")
        if uid_of(account) != uid:
            raise TokenRefused(f"ServiceAccount UID ({uid_of(account)}) does not match claim ({uid})")


def _check_complete(claims: Claims) -> None:
    for claim, shown in _CLAIMS:
        if not isinstance(claims.get(claim), str) or not claims[claim]:
            raise TokenRefused(f"{shown} claim is missing")
    if claims["sub"] != f"system:serviceaccount:{claims[NAMESPACE_CLAIM]}:{claims[NAME_CLAIM]}":
        raise TokenRefused("sub claim is invalid")


def _marked_invalid(namespace: str, secret: str, account: str) -> str:
    return (
        f"the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked invalid."
        " Use tokens from the TokenRequest API or manually created secret-based tokens,"
        f" or remove the '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
    )
