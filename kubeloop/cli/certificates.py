"""What the authority of a stack issues for `kubeloop up --secure`: certificates of the server and of users.

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
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeloop import authority as authorities
from kubeloop.authority import BACKDATED, AuthorityError, keep_authority, key_text, key_usage, new_key, pem_of
from kubeloop.cli.options import UsageError

ISSUED_DAYS = 365

_Subject = list[tuple[x509.ObjectIdentifier, str]]


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, both PEM."""

    certificate: str
    key: str


class Authority:
    """Issues certificates."""

    def __init__(self, authority: authorities.Authority, now: datetime) -> None:
        self._authority, self._now = authority, now

    @classmethod
    def kept_in(cls, folder: Path, now: datetime) -> Authority:
        """The authority of a folder, made where there is none. UsageError where its files cannot be used."""
        certificate_file, key_file = folder / "ca.crt", folder / "ca.key"
        try:
            authority = keep_authority(certificate_file, key_file, "kubeloop", now)
        except AuthorityError as error:
            raise UsageError(str(error)) from error
        if authority.certificate.not_valid_after_utc < now:
            raise UsageError(f"{certificate_file} has expired: remove it and {key_file}")
        return cls(authority, now)

    @property
    def certificate(self) -> str:
        return pem_of(self._authority.certificate)

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
        key = new_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - BACKDATED)
            .not_valid_after(self._now + timedelta(days=ISSUED_DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage({"digital_signature": True}), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        for extension in more:
            builder = builder.add_extension(extension, critical=False)
        return Issued(self._authority.sign(builder), key_text(key))


def _name(parts: _Subject) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in parts])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
