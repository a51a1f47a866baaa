"""PKCS #10 requests for certificates: whose they are, and whether the requester holds the key.

Signatures by RSA keys, kubectl's and openssl's default, are verified; those of other keys are taken as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from kubeloop.apimachinery import der, pem
from kubeloop.apimachinery.der import DerError, Element

REQUEST_BLOCK = "CERTIFICATE REQUEST"
WRONG_BLOCK = f"PEM block type must be {REQUEST_BLOCK}"

_COMMON_NAME, _ORGANIZATION = "2.5.4.3", "2.5.4.10"
_RSA_KEY = "1.2.840.113549.1.1.1"
# Signature algorithm -> hash, and the hash's name as PKCS #1 puts it before the digest.
_RSA_SIGNATURES: Mapping[str, tuple[str, bytes]] = {
    "1.2.840.113549.1.1.11": ("sha256", bytes.fromhex("3031300d060960864801650304020105000420")),
    "1.2.840.113549.1.1.12": ("sha384", bytes.fromhex("3041300d060960864801650304020205000430")),
    "1.2.840.113549.1.1.13": ("sha512", bytes.fromhex("3051300d060960864801650304020305000440")),
}


class RequestError(ValueError):
    """Why it is no request that could be granted."""


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    common_name: str
    organizations: tuple[str, ...]


def parse_request(text: bytes) -> CertificateRequest:
    """The request in the first PEM block; RequestError where it is none or its signature is wrong."""
    block = next(pem.blocks(text), None)
    if block is None or block.kind != REQUEST_BLOCK:
        raise RequestError(WRONG_BLOCK)
    try:
        body, algorithm, signature = _three(der.parse(block.data).expect(der.SEQUENCE))
        fields = body.expect(der.SEQUENCE).children()
        if len(fields) < 3:
            raise DerError("asn1: syntax error: sequence truncated")
        fields[0].expect(der.INTEGER)
        names = _names(fields[1].expect(der.SEQUENCE))
        _check_signature(body, fields[2].expect(der.SEQUENCE), algorithm, signature)
    except DerError as error:
        raise RequestError(str(error)) from error
    return CertificateRequest(next((v for k, v in names if k == _COMMON_NAME), ""), _organizations(names))


def _three(sequence: Element) -> tuple[Element, Element, Element]:
    parts = sequence.children()
    if len(parts) != 3:
        raise DerError("asn1: syntax error: sequence truncated")
    return parts[0], parts[1].expect(der.SEQUENCE), parts[2].expect(der.BIT_STRING)


def _names(subject: Element) -> list[tuple[str, str]]:
    """The parts of a distinguished name: (what it is, text)."""
    names = []
    for group in subject.children():
        for part in group.expect(der.SET).children():
            pair = part.expect(der.SEQUENCE).children()
            if len(pair) != 2:
                raise DerError("asn1: syntax error: sequence truncated")
            names.append((der.object_identifier(pair[0]), pair[1].content.decode("utf-8", "replace")))
    return names


def _organizations(names: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(text for kind, text in names if kind == _ORGANIZATION)


def _check_signature(body: Element, key: Element, algorithm: Element, signature: Element) -> None:
    method = der.object_identifier(algorithm.children()[0])
    key_parts = key.children()
    if method not in _RSA_SIGNATURES or der.object_identifier(key_parts[0].children()[0]) != _RSA_KEY:
        return
    modulus, exponent = (_integer(part) for part in der.parse(key_parts[1].content[1:]).children())
    size = (modulus.bit_length() + 7) // 8
    recovered = pow(int.from_bytes(signature.content[1:], "big"), exponent, modulus).to_bytes(size, "big")
    if recovered != _padded(body.encoded, *_RSA_SIGNATURES[method], size):
        raise RequestError("crypto/rsa: verification error")


def _integer(element: Element) -> int:
    return int.from_bytes(element.expect(der.INTEGER).content, "big")


def _padded(message: bytes, hash_name: str, prefix: bytes, size: int) -> bytes:
    """What PKCS #1 v1.5 has the key's owner sign."""
    digest = prefix + hashlib.new(hash_name, message).digest()
    return b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
