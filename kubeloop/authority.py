"""A certificate authority: a certificate and its key, kept as two PEM files, made where there are none.

`kubeloop up --secure` issues the stack's own certificates with one (cli/certificates.py), the loop of certificate
requests what was approved (controllers/certificates). This module loads `cryptography`, which takes 100 ms: it is
imported where the first certificate is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from kubeloop.private_files import write_private

AUTHORITY_DAYS = 3650
# Clocks of two machines differ: a certificate is good from a little before it was made.
BACKDATED = timedelta(minutes=5)

AuthorityKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


class AuthorityError(ValueError):
    """The files hold no authority that can sign; the text names them."""


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: x509.Certificate
    key: AuthorityKey

    def sign(self, builder: x509.CertificateBuilder) -> str:
        """The certificate, as PEM. `builder` says everything but who issues it."""
        issued = builder.issuer_name(self.certificate.subject).add_extension(self._key_identifier(), critical=False)
        return pem_of(issued.sign(self.key, hashes.SHA256()))

    def _key_identifier(self) -> x509.AuthorityKeyIdentifier:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())


def read_authority(certificate_file: Path, key_file: Path) -> Authority:
    """Raises AuthorityError where the files are not there, or do not belong together."""
    try:
        certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise AuthorityError(f"cannot use {certificate_file} and {key_file}: {error}") from error
    if key.public_key() != certificate.public_key():
        raise AuthorityError(f"{key_file} is not the key of {certificate_file}: remove both")
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise AuthorityError(f"{key_file}: only RSA and elliptic curve keys are known")
    return Authority(certificate, key)


def keep_authority(certificate_file: Path, key_file: Path, name: str, now: datetime) -> Authority:
    """The authority of these files, made where neither is there. Half of one is an AuthorityError."""
    if not certificate_file.exists() and not key_file.exists():
        made = _make(name, now)
        write_private(key_file, key_text(made.key))
        certificate_file.write_text(pem_of(made.certificate))
    return read_authority(certificate_file, key_file)


def _make(name: str, now: datetime) -> Authority:
    key = new_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(key_usage({"digital_signature": True, "key_cert_sign": True}), critical=True)
    )
    return Authority(builder.sign(key, hashes.SHA256()), key)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_usage(allowed: Mapping[str, bool]) -> x509.KeyUsage:
    """What a key may be used for, by the names of x509.KeyUsage's arguments; the rest it may not."""
    return x509.KeyUsage(**{name: allowed.get(name, False) for name in _USAGES})


def pem_of(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_text(key: AuthorityKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
