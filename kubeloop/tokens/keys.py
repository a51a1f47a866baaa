"""The keys behind service account tokens: the private one that signs, and the public ones that verify.

It is imported only when a token is to be signed or verified: `cryptography` takes 100 ms to load. RSA keys sign with
RS256, P-256, P-384 and P-521 keys with ES256, ES384 and ES512, as the real server's do.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from kubeloop.apimachinery import pem
from kubeloop.tokens.jwt import base64url

RSA_BITS = 2048

_CURVES: dict[str, tuple[str, str, hashes.HashAlgorithm, int]] = {
    "secp256r1": ("ES256", "P-256", hashes.SHA256(), 32),
    "secp384r1": ("ES384", "P-384", hashes.SHA384(), 48),
    "secp521r1": ("ES512", "P-521", hashes.SHA512(), 66),
}


class KeyFileError(ValueError):
    """The text holds no key of a kind that can be used here."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """Verifies signatures. `key_id` is derived from the key, so that every server gives it the same name."""

    key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey
    algorithm: str
    key_id: str

    @classmethod
    def of(cls, key: Any) -> PublicKey:
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        if isinstance(key, rsa.RSAPublicKey):
            algorithm = "RS256"
        elif isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
            algorithm = _CURVES[key.curve.name][0]
        else:
            raise KeyFileError("only RSA keys and elliptic curve keys on P-256, P-384 or P-521 are known")
        return cls(key, algorithm, base64url(hashlib.sha256(key.public_bytes(encoding, form)).digest()))

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            if isinstance(self.key, rsa.RSAPublicKey):
                self.key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
            else:
                _, _, digest, size = _CURVES[self.key.curve.name]
                if len(signature) != 2 * size:
                    return False
                r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
                self.key.verify(encode_dss_signature(r, s), message, ec.ECDSA(digest))
        except InvalidSignature:
            return False
        return True

    def web_key(self) -> dict[str, str]:
        """The key as a JSON web key (RFC 7517)."""
        common = {"use": "sig", "kid": self.key_id, "alg": self.algorithm}
        if isinstance(self.key, rsa.RSAPublicKey):
            numbers = self.key.public_numbers()
            common |= {"kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        else:
            _, curve, _, size = _CURVES[self.key.curve.name]
            point = self.key.public_numbers()
            common |= {"kty": "EC", "crv": curve, "x": _number(point.x, size), "y": _number(point.y, size)}
        return {
            name: common[name] for name in ("use", "kty", "kid", "crv", "alg", "n", "e", "x", "y") if name in common
        }


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """Signs."""

    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
    public: PublicKey

    @classmethod
    def of(cls, key: Any) -> PrivateKey:
        return cls(key, PublicKey.of(key.public_key()))

    def sign(self, message: bytes) -> bytes:
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        _, _, digest, size = _CURVES[self.key.curve.name]
        r, s = decode_dss_signature(self.key.sign(message, ec.ECDSA(digest)))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")

    def to_pem(self) -> bytes:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(encoding, form, serialization.NoEncryption())


def generate() -> PrivateKey:
    return PrivateKey.of(rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS))


def read_private_key(text: bytes) -> PrivateKey:
    """The private key in PEM text. Raises KeyFileError."""
    try:
        return PrivateKey.of(serialization.load_pem_private_key(text, password=None))
    except (ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise KeyFileError(f"not a private key in PEM that can be used: {error}") from error


def read_public_keys(text: bytes) -> list[PublicKey]:
    """Every key in PEM text, be it public, private (its public half) or in a certificate. Raises KeyFileError."""
    found = [_public_key(block) for block in pem.blocks(text)]
    if not found:
        raise KeyFileError("no key in PEM found")
    return found


def _public_key(block: pem.Block) -> PublicKey:
    text = (
        f"-----BEGIN {block.kind}-----\n{base64.b64encode(block.data).decode()}\n-----END {block.kind}-----\n".encode()
    )
    try:
        if block.kind == "CERTIFICATE":
            return PublicKey.of(x509.load_der_x509_certificate(block.data).public_key())
        if block.kind.endswith("PRIVATE KEY"):
            return read_private_key(text).public
        return PublicKey.of(serialization.load_pem_public_key(text))
    except ValueError as error:
        raise KeyFileError(f"not a key that can be used: {error}") from error


def _number(value: int, size: int = 0) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))
