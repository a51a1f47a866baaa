"""Which tokens one of our keys has signed, and whom they are meant for."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from apiserver.auth.authentication import TokenRefused
from apiserver.auth.tokens.keyring import Keyring
from kubeloop.apimachinery.field import go_quote
from kubeloop.tokens import jwt

MAX_KNOWN_TOKENS = 1000


class Verification:
    """Claims of tokens whose signature was found right are remembered, as that never changes.

    Whether they still hold is for the caller to ask, every time. Full: all are forgotten and verified anew.
    """

    def __init__(self, keyring: Keyring, issuers: Container[str]) -> None:
        self._keyring, self._issuers = keyring, issuers
        self._known: dict[str, jwt.Claims] = {}

    def claims_of(self, token: str) -> jwt.Claims | None:
        """The claims of a token that one of our keys signed; None for one of another issuer. Raises TokenRefused."""
        known = self._known.get(token)
        if known is not None:
            return known
        taken_apart = jwt.take_apart(token)
        if taken_apart is None or taken_apart.claims.get("iss") not in self._issuers:
            return None
        key_id = taken_apart.header.get("kid")
        keys = self._keyring.verifying(key_id if isinstance(key_id, str) else "")
        if not keys:
            raise TokenRefused("invalid signature, no keys found")
        if not taken_apart.is_signed_by_any(keys):
            raise TokenRefused("square/go-jose: error in cryptographic primitive")
        if len(self._known) >= MAX_KNOWN_TOKENS:
            self._known.clear()
        self._known[token] = taken_apart.claims
        return taken_apart.claims


def shared_audiences(claims: jwt.Claims, own: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Those of the audiences asked for that a token is good for; one that names none is good for the server's own."""
    good_for = _audiences(claims.get("aud")) or tuple(own)
    shared = tuple(audience for audience in good_for if audience in asked)
    if not shared:
        shown = f"token audiences {_go_list(good_for)} is invalid for the target audiences {_go_list(asked)}"
        raise TokenRefused(shown)
    return shared


def _audiences(value: Any) -> tuple[str, ...]:
    """A token may write one audience as a string."""
    listed = value if isinstance(value, list) else [value]
    return tuple(audience for audience in listed if isinstance(audience, str))


def _go_list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(go_quote, texts)) + "]"
