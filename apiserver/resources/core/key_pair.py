"""Whether a certificate and a private key fit together, as Go's `tls.X509KeyPair` says it.

A Secret of type kubernetes.io/tls whose pair does not fit is stored all the same, with a warning. RSA keys are compared
by modulus, elliptic curve keys by the public point that key files carry; other kinds are taken to fit.
"""

from __future__ import annotations

from kubeloop.apimachinery import der, pem
from kubeloop.apimachinery.der import DerError, Element

CERTIFICATE, PRIVATE_KEY = "CERTIFICATE", "PRIVATE KEY"
RSA, ELLIPTIC_CURVE = "1.2.840.113549.1.1.1", "1.2.840.10045.2.1"
OCTET_STRING = 0x04
_VERSION_TAG = 0xA0
_PUBLIC_POINT_TAG = 0xA1

Key = tuple[str, bytes]  # its algorithm, and what is public of it; nothing where that is not known


class KeyPairError(ValueError):
    """What is wrong, in Go's words."""


def check_key_pair(certificate: bytes, key: bytes) -> None:
    """Raises KeyPairError where the two are unreadable or belong to different pairs."""
    certificates = _certificate_blocks(certificate)
    private = _key_block(key)
    public_key = _public_key(certificates[0])
    private_key = _private_key(private)
    if public_key[0] != private_key[0]:
        raise KeyPairError("tls: private key type does not match public key type")
    if public_key[1] and private_key[1] and public_key[1] != private_key[1]:
        raise KeyPairError("tls: private key does not match public key")


def _certificate_blocks(text: bytes) -> list[bytes]:
    found, skipped = [], []
    for block in pem.blocks(text):
        if block.kind == CERTIFICATE:
            found.append(block.data)
        else:
            skipped.append(block.kind)
    if found:
        return found
    if not skipped:
        raise KeyPairError("tls: failed to find any PEM data in certificate input")
    if len(skipped) == 1 and skipped[0].endswith(PRIVATE_KEY):
        raise KeyPairError(
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    raise KeyPairError(
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{' '.join(skipped)}]"
    )


def _key_block(text: bytes) -> bytes:
    skipped = []
    for block in pem.blocks(text):
        if block.kind == PRIVATE_KEY or block.kind.endswith(f" {PRIVATE_KEY}"):
            return block.data
        skipped.append(block.kind)
    if not skipped:
        raise KeyPairError("tls: failed to find any PEM data in key input")
    if skipped == [CERTIFICATE]:
        raise KeyPairError("tls: found a certificate rather than a key in the PEM for the private key")
    raise KeyPairError(
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{' '.join(skipped)}]"
    )


def _public_key(certificate: bytes) -> Key:
    try:
        body = der.parse(certificate).expect(der.SEQUENCE).children()[0].expect(der.SEQUENCE).children()
        fields = body[1:] if body[0].tag == _VERSION_TAG else body
        algorithm, key = fields[5].expect(der.SEQUENCE).children()
        kind = der.object_identifier(algorithm.children()[0])
        bits = key.expect(der.BIT_STRING).content[1:]
        return kind, _modulus(der.parse(bits), 0) if kind == RSA else bits
    except (DerError, IndexError, ValueError) as error:
        raise KeyPairError("x509: malformed certificate") from error


def _private_key(data: bytes) -> Key:
    """PKCS #1 and SEC 1 hold a key alone, PKCS #8 one of those with the name of its algorithm."""
    try:
        parts = der.parse(data).expect(der.SEQUENCE).children()
        if len(parts) > 1 and parts[1].tag == der.SEQUENCE:
            kind = der.object_identifier(parts[1].children()[0])
            return kind, _public_part(kind, der.parse(parts[2].expect(OCTET_STRING).content))
        kind = ELLIPTIC_CURVE if parts[1].tag == OCTET_STRING else RSA
        return kind, _public_part(kind, der.parse(data))
    except (DerError, IndexError) as error:
        raise KeyPairError("tls: failed to parse private key") from error


def _public_part(kind: str, key: Element) -> bytes:
    if kind == RSA:
        return _modulus(key, 1)
    if kind == ELLIPTIC_CURVE:
        for part in key.expect(der.SEQUENCE).children():
            if part.tag == _PUBLIC_POINT_TAG:
                return part.children()[0].expect(der.BIT_STRING).content[1:]
    return b""


def _modulus(key: Element, position: int) -> bytes:
    return key.expect(der.SEQUENCE).children()[position].expect(der.INTEGER).content
