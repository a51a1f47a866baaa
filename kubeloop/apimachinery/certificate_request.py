"""PKCS #10 requests for certificates: whose they are, and whether the requester holds the key.

Signatures by RSA keys, kubectl's and openssl's default, are verified; those of other keys are taken as they are.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeloop.apimachinery import der, pem
from kubeloop.apimachinery.der import DerError, Element

REQUEST_BLOCK = "CERTIFICATE REQUEST"
WRONG_BLOCK = f"PEM block type must be {REQUEST_BLOCK}"

_COMMON_NAME, _ORGANIZATION = "2.5.4.3", "2.5.4.10"
_EXTENSION_REQUEST, _ALTERNATIVE_NAMES = "1.2.840.113549.1.9.14", "2.5.29.17"
_RSA_KEY = "1.2.840.113549.1.1.1"
# Signature algorithm -> hash, and the hash's name as PKCS #1 puts it before the digest.
_RSA_SIGNATURES: Mapping[str, tuple[str, bytes]] = {
    "1.2.840.113549.1.1.11": ("sha256", bytes.fromhex("3031300d060960864801650304020105000420")),
    "1.2.840.113549.1.1.12": ("sha384", bytes.fromhex("3041300d060960864801650304020205000430")),
    "1.2.840.113549.1.1.13": ("sha512", bytes.fromhex("3051300d060960864801650304020305000440")),
}


# Tags of the kinds of general names (RFC 5280), and what Go calls those that are texts.
_EMAIL, _DNS_NAME, _URI, _ADDRESS = 0x81, 0x82, 0x86, 0x87
_SPELLED: Mapping[int, str] = {
    _EMAIL: "rfc822Name",
    _DNS_NAME: "dNSName",
    _URI: "uniformResourceIdentifier",
}


class RequestError(ValueError):
    """Why it is no request that could be granted."""


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """The subject (of several common names the last one counts), and the other names asked for."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


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
        others = _alternative_names(fields[3:])
    except DerError as error:
        raise RequestError(str(error)) from error
    common_names = [text for kind, text in names if kind == _COMMON_NAME]
    return CertificateRequest(common_names[-1] if common_names else "", _organizations(names), *others)


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


def _alternative_names(attributes: Sequence[Element]) -> Sequence[tuple[str, ...]]:
    """DNS names, e-mail addresses, IP addresses and URIs: in a list of extensions, which is an attribute."""
    kinds: dict[int, list[str]] = {_DNS_NAME: [], _EMAIL: [], _ADDRESS: [], _URI: []}
    for name in _general_names(attributes):
        if name.tag == _ADDRESS:
            kinds[_ADDRESS].append(_address(name.content))
        elif name.tag in kinds:
            if not name.content.isascii():
                raise RequestError(f"x509: SAN {_SPELLED[name.tag]} is malformed")
            kinds[name.tag].append(name.content.decode())
    return [tuple(kinds[kind]) for kind in (_DNS_NAME, _EMAIL, _ADDRESS, _URI)]


def _general_names(attributes: Sequence[Element]) -> Iterator[Element]:
    for attribute in (part for listed in attributes for part in listed.children()):
        parts = attribute.expect(der.SEQUENCE).children()
        if len(parts) == 2 and der.object_identifier(parts[0]) == _EXTENSION_REQUEST:
            for extension in (e for value in parts[1].children() for e in value.expect(der.SEQUENCE).children()):
                fields = extension.expect(der.SEQUENCE).children()
                if fields and der.object_identifier(fields[0]) == _ALTERNATIVE_NAMES:
                    yield from der.parse(fields[-1].expect(der.OCTET_STRING).content).expect(der.SEQUENCE).children()


def _address(content: bytes) -> str:
    if len(content) not in (4, 16):
        raise RequestError(f"x509: cannot parse IP address of length {len(content)}")
    return str(ipaddress.ip_address(content))


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
