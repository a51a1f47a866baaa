"""A Secret as somebody who can sign certificates; why it cannot, where it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from examples.operators.certificate.api import CA_ENTRY, CERTIFICATE_ENTRY, KEY_ENTRY, TLS_TYPE
from examples.operators.certificate.keys import PrivateKey, load_key
from examples.operators.certificate.secret_data import entry
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.times import format_time


class Obstacle(Exception):
    """What keeps a certificate from being issued. `is_final`: until one of the objects changes, for sure."""

    def __init__(self, reason: str, message: str, is_final: bool = True) -> None:
        super().__init__(message)
        self.reason, self.message, self.is_final = reason, message, is_final


@dataclass(frozen=True, slots=True)
class Authority:
    """`chain`: what servers show after their own certificate; `root`: what clients trust. Both PEM."""

    certificate: x509.Certificate
    key: PrivateKey
    chain: bytes
    root: bytes

    @property
    def ends_at(self) -> datetime:
        return self.certificate.not_valid_after_utc


def authority_of(name: str, secret: ReadOnlyObject | None, now: datetime) -> Authority:
    """Raises Obstacle."""
    if secret is None:
        raise Obstacle(
            "CAMissing", f"waiting for Secret {name} of type {TLS_TYPE}, which is to hold the CA", is_final=False
        )
    try:
        certificates = x509.load_pem_x509_certificates(entry(secret, CERTIFICATE_ENTRY))
        key = load_key(entry(secret, KEY_ENTRY))
    except ValueError as error:
        raise _unfit(secret, f"cannot be read: {error}") from error
    certificate = certificates[0]
    if key.public_key() != certificate.public_key():
        raise _unfit(secret, f"{KEY_ENTRY} is not the key of {CERTIFICATE_ENTRY}")
    if not is_ca(certificate):
        raise _unfit(secret, f"{CERTIFICATE_ENTRY} is no CA's certificate")
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        times = map(format_time, (certificate.not_valid_before_utc, certificate.not_valid_after_utc))
        raise _unfit(secret, f"{CERTIFICATE_ENTRY} is good from {' to '.join(times)}")
    if is_signed_by(certificate, certificate):
        return Authority(certificate, key, chain=b"", root=pem_of(certificate))
    chain = b"".join(map(pem_of, certificates))
    return Authority(certificate, key, chain, root=entry(secret, CA_ENTRY) or pem_of(certificates[-1]))


def is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def pem_of(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _unfit(secret: ReadOnlyObject, why: str) -> Obstacle:
    return Obstacle("CAUnfit", f"Secret {name_of(secret)} cannot sign: {why}")
