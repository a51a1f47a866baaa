"""JSON web tokens in their compact form: `base64(header).base64(claims).base64(signature)` (RFC 7519, RFC 7515).

A token is signed and verified with the algorithm of the *key*. What its header says must agree with that, and decides
nothing: no token chooses how it is verified.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from kubeloop.tokens.keys import PrivateKey, PublicKey

Claims = dict[str, Any]

# More than any token of ours: what is longer is not even taken apart.
MAX_TOKEN_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Unverified:
    """A token taken apart. Nothing it says may be believed before `is_signed_by_any` was true."""

    header: Claims
    claims: Claims
    signed: bytes
    signature: bytes

    def is_signed_by_any(self, keys: Iterable[PublicKey]) -> bool:
        algorithm = self.header.get("alg")
        return any(key.algorithm == algorithm and key.verifies(self.signature, self.signed) for key in keys)


def encode(claims: Claims, key: PrivateKey) -> str:
    """A signed token. Claims are written in the order of their names."""
    header = {"alg": key.public.algorithm, "kid": key.public.key_id}
    signed = f"{base64url(orjson.dumps(header))}.{base64url(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
    return f"{signed}.{base64url(key.sign(signed.encode()))}"


def take_apart(token: str) -> Unverified | None:
    """The parts of a token; None where it is no JSON web token."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_TOKEN_BYTES or not token.isascii():
        return None
    try:
        header, claims, signature = (_decoded(part) for part in parts)
        token_header, token_claims = orjson.loads(header), orjson.loads(claims)
    except ValueError:  # neither base64 nor JSON
        return None
    if not isinstance(token_header, dict) or not isinstance(token_claims, dict):
        return None
    return Unverified(token_header, token_claims, token.rpartition(".")[0].encode(), signature)


def base64url(data: bytes) -> str:
    """Base64 as web tokens write it: for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    if "=" in text:
        raise binascii.Error("padding")
    standard = text.translate(_TO_STANDARD)
    return base64.b64decode(standard + "=" * (-len(text) % 4), validate=True)


_TO_STANDARD = str.maketrans({"-": "+", "_": "/", "+": "*", "/": "*"})  # "*" is in neither alphabet
