"""Private keys: making them, reading them, telling their kinds apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

_CURVES: dict[int, ec.EllipticCurve] = {256: ec.SECP256R1(), 384: ec.SECP384R1(), 521: ec.SECP521R1()}
_DEFAULT_SIZES = {"ECDSA": 256, "RSA": 2048, "Ed25519": 0}


@dataclass(frozen=True, slots=True)
class KeyKind:
    """`size` in bits; 0 for Ed25519, which has one size only."""

    algorithm: str
    size: int

    @classmethod
    def of(cls, algorithm: str, size: int) -> Self:
        """With the algorithm's usual size where none is given."""
        return cls(algorithm, size or _DEFAULT_SIZES[algorithm])

    @classmethod
    def of_key(cls, key: PrivateKey) -> Self:
        if isinstance(key, rsa.RSAPrivateKey):
            return cls("RSA", key.key_size)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return cls("ECDSA", key.key_size)
        return cls("Ed25519", 0)

    def __str__(self) -> str:
        return f"{self.algorithm} {self.size}" if self.size else self.algorithm


# May take seconds, for the longest RSA keys: it is called in a thread.
KeyMaker = Callable[[KeyKind], PrivateKey]


def new_key(kind: KeyKind) -> PrivateKey:
    """From the operating system's randomness, as the library has it."""
    if kind.algorithm == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=kind.size)
    if kind.algorithm == "ECDSA":
        return ec.generate_private_key(_CURVES[kind.size])
    return ed25519.Ed25519PrivateKey.generate()


def load_key(pem: bytes) -> PrivateKey:
    """ValueError where it is no key, or none of these kinds.

    That the numbers of an RSA key fit together is not checked: it takes half a second, and shows in what it signs.
    """
    try:
        key = serialization.load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)
    except (TypeError, UnsupportedAlgorithm) as error:  # TypeError: it is encrypted
        raise ValueError(str(error)) from error
    if not isinstance(key, PrivateKey):
        raise ValueError("neither RSA, ECDSA nor Ed25519")
    return key


def key_pem(key: PrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def signature_hash(key: PrivateKey) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    """The hash that a key of this strength signs with; Ed25519 has its own."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size > 256:
        return hashes.SHA384() if key.key_size <= 384 else hashes.SHA512()
    return hashes.SHA256()
