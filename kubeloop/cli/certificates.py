"""A certificate authority of a stack's own, for `kubeloop up --secure`: what kubeadm makes for a cluster, and where.

The authority is made once and kept (`DATA-DIR/pki/ca.crt`, `ca.key`), so what was given out stays good. Certificates
that it issues are made anew at every start: none is ever about to end. This module loads `cryptography`, which takes
100 ms; only `secure.py` imports it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeloop.cli.options import UsageError
from kubeloop.cli.private_files import write_private

AUTHORITY_DAYS = 3650
ISSUED_DAYS = 365
# Clocks of two machines differ: a certificate is good from a little before it was made.
BACKDATED = timedelta(minutes=5)


_Signer = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_Subject = list[tuple[x509.ObjectIdentifier, str]]


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, both PEM."""

    certificate: str
    key: str


class Authority:
    """Issues certificates."""

    def __init__(self, certificate: x509.Certificate, key: _Signer, now: datetime) -> None:
        self._certificate, self._key, self._now = certificate, key, now

    @classmethod
    def kept_in(cls, folder: Path, now: datetime) -> Authority:
        """The authority of a folder, made where there is none. UsageError where its files cannot be used."""
        certificate_file, key_file = folder / "ca.crt", folder / "ca.key"
        if not certificate_file.exists() and not key_file.exists():
            made = _make_authority(now)
            write_private(key_file, made.key)
            certificate_file.write_text(made.certificate)
        try:
            certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
            key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"cannot use {certificate_file} and {key_file}: {error}") from error
        if key.public_key() != certificate.public_key() or certificate.not_valid_after_utc < now:
            raise UsageError(f"{certificate_file} has expired, or {key_file} is not its key: remove both")
        if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise UsageError(f"{key_file}: only RSA and elliptic curve keys are known")
        return cls(certificate, key, now)

    @property
    def certificate(self) -> str:
        return _pem(self._certificate)

    def for_server(self, name: str, hosts: Sequence[str]) -> Issued:
        """For a server that is reached under these names and addresses."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue([(NameOID.COMMON_NAME, name)], ExtendedKeyUsageOID.SERVER_AUTH, [names])

    def for_client(self, user: str, groups: Sequence[str]) -> Issued:
        """For a user, as the API server reads certificates."""
        subject = [*((NameOID.ORGANIZATION_NAME, group) for group in groups), (NameOID.COMMON_NAME, user)]
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: _Subject, usage: x509.ObjectIdentifier, more: Sequence[x509.ExtensionType] = ()
    ) -> Issued:
        key = _new_key()
        builder = _builder(subject, key, self._now, ISSUED_DAYS)
        builder = builder.issuer_name(self._certificate.subject)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority, critical=False)
        for extension in more:
            builder = builder.add_extension(extension, critical=False)
        return Issued(_pem(builder.sign(self._key, hashes.SHA256())), _key_text(key))


def _make_authority(now: datetime) -> Issued:
    key = _new_key()
    subject = [(NameOID.COMMON_NAME, "kubeloop")]
    builder = _builder(subject, key, now, AUTHORITY_DAYS).issuer_name(_name(subject))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return Issued(_pem(builder.sign(key, hashes.SHA256())), _key_text(key))


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(subject: _Subject, key: ec.EllipticCurvePrivateKey, now: datetime, days: int) -> x509.CertificateBuilder:
    """What all certificates have."""
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(parts: _Subject) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in parts])


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
