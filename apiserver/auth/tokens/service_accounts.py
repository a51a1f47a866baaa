"""Service account tokens: signed on request (serviceaccounts/NAME/token), and known again as a token source.

`server.py` makes one; the token endpoint calls `issue`, the authenticator `identify`. What a token says and whether it
is still true is in `claims.py`; keys come from the keyring.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.auth.authentication import API_AUDIENCES, Identity
from apiserver.auth.tokens import claims as claims_of
from apiserver.auth.tokens.claims import Bound
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.verification import Verification, shared_audiences
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.names import new_uid
from kubeloop.tokens import jwt

# A kubelet asks for this many seconds for the token it mounts into a pod. Old clients read that file once: such a token
# stays good for a year (--service-account-extend-token-expiration).
MOUNTED_TOKEN_SECONDS = 3607
EXTENDED_SECONDS = 365 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Flags of the server. The first issuer signs; tokens of all of them are accepted."""

    issuers: Sequence[str] = API_AUDIENCES
    audiences: Sequence[str] = API_AUDIENCES
    extends_mounted_tokens: bool = True


class ServiceAccountTokens:
    """A TokenSource for the tokens that it issues."""

    def __init__(
        self, reader: Reader, keyring: Keyring, clock: Clock, rng: random.Random, settings: TokenSettings | None = None
    ) -> None:
        self._reader, self.keyring, self._clock, self._rng = reader, keyring, clock, rng
        self.settings = settings or TokenSettings()
        self._verification = Verification(keyring, self.settings.issuers)

    async def issue(
        self, account: ReadOnlyObject, audiences: Sequence[str], seconds: int, bound: Bound | None = None
    ) -> str:
        """A token for a service account. Raises KeyFileError or OSError where there is no key to sign with."""
        key = await self.keyring.signing()
        now = int(self._clock.now().timestamp())
        lasts, warn_after = self._lifetime(audiences, seconds, bound)
        metadata = account["metadata"]
        claims = {
            "aud": list(audiences),
            "exp": now + lasts,
            "iat": now,
            "iss": self.settings.issuers[0],
            "jti": new_uid(self._rng),
            "nbf": now,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
            **claims_of.private_claims(account, bound, now + warn_after if warn_after else 0),
        }
        return jwt.encode(claims, key)

    def identify(self, token: str, audiences: Sequence[str]) -> Identity | None:
        """The service account of a token of ours; None for any other token. Raises TokenRefused."""
        claims = self._verification.claims_of(token)
        if claims is None:
            return None
        shared = shared_audiences(claims, self.settings.audiences, audiences)
        now = self._clock.now()
        claims_of.check_times(claims, now)
        return Identity(claims_of.user_of(claims, self._reader, now), shared)

    def _lifetime(self, audiences: Sequence[str], seconds: int, bound: Bound | None) -> tuple[int, int]:
        """How long the token is good, and from when on its use is frowned upon (0: never)."""
        extends = self.settings.extends_mounted_tokens and seconds == MOUNTED_TOKEN_SECONDS
        if extends and bound is not None and bound.kind == "pod" and set(audiences) <= set(self.settings.audiences):
            return EXTENDED_SECONDS, seconds
        return seconds, 0
