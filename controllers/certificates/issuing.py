"""The certificate that is issued on a request (pkg/controller/certificates/authority, v1.36).

Names come from the request, usages from the CertificateSigningRequest, and nothing else that the request would like.
This module loads `cryptography`; it is imported when the first certificate is to be issued.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeloop.apimachinery.certificate_request import CertificateRequest
from kubeloop.authority import BACKDATED, Authority, key_usage

# Backdating by five minutes is about a hundredth of it.
SHORT_LIVED = timedelta(hours=8)

# The parts of a subject that are taken over, in the order in which Go writes them.
_SUBJECT = (
    NameOID.COUNTRY_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.LOCALITY_NAME,
    NameOID.STATE_OR_PROVINCE_NAME,
    NameOID.STREET_ADDRESS,
    NameOID.POSTAL_CODE,
)
_ONE_OF_EACH = (NameOID.COMMON_NAME, NameOID.SERIAL_NUMBER)

_KEY_USAGES: Mapping[str, str] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
# In the order in which they are written.
_EXTENDED_USAGES: Mapping[str, x509.ObjectIdentifier] = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}


class NotIssued(Exception):
    """Why no certificate can be issued on this request, ever."""


class AuthorityExpired(Exception):
    """The authority's own certificate has ended."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`request` is the PEM text of which `asked` was read."""

    request: bytes
    asked: CertificateRequest
    usages: Collection[str]
    lasts: timedelta


def issue(authority: Authority, wanted: Wanted, now: datetime) -> str:
    """The certificate as PEM. Raises NotIssued or AuthorityExpired."""
    try:
        request = x509.load_pem_x509_csr(wanted.request)
        if not request.is_signature_valid:
            raise NotIssued("unable to verify certificate request signature")
        begins, ends = _life(wanted.lasts, authority.certificate.not_valid_after_utc, now)
        # The serial number is the operating system's chance: nobody may guess it.
        builder = x509.CertificateBuilder(
            None, _subject(request.subject), request.public_key(), x509.random_serial_number(), begins, ends
        )
        return authority.sign(_with_extensions(builder, wanted))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise NotIssued(str(error)) from error


def _life(lasts: timedelta, authority_ends: datetime, now: datetime) -> tuple[datetime, datetime]:
    if now >= authority_ends:
        raise AuthorityExpired(f"refusing to sign a certificate that expired in the past: NotAfter={authority_ends}")
    ends = now + lasts if lasts < SHORT_LIVED else now + lasts - BACKDATED
    return now - BACKDATED, min(ends, authority_ends)


def _subject(asked: x509.Name) -> x509.Name:
    """Values of one kind share a part; of the last two kinds the last value counts."""
    parts = [list(dict.fromkeys(asked.get_attributes_for_oid(kind))) for kind in _SUBJECT]
    parts += [asked.get_attributes_for_oid(kind)[-1:] for kind in _ONE_OF_EACH]
    return x509.Name([x509.RelativeDistinguishedName(part) for part in parts if part])


def _with_extensions(builder: x509.CertificateBuilder, wanted: Wanted) -> x509.CertificateBuilder:
    allowed = {_KEY_USAGES[usage]: True for usage in wanted.usages if usage in _KEY_USAGES}
    extended = dict.fromkeys(oid for usage, oid in _EXTENDED_USAGES.items() if usage in wanted.usages)
    if allowed:
        builder = builder.add_extension(key_usage(allowed), critical=True)
    if extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    names = _alternative_names(wanted.asked)
    if names:
        has_subject = bool(wanted.asked.common_name or wanted.asked.organizations)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not has_subject)
    return builder


def _alternative_names(asked: CertificateRequest) -> list[x509.GeneralName]:
    return [
        *map(x509.DNSName, asked.dns_names),
        *map(x509.RFC822Name, asked.emails),
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in asked.addresses),
        *map(x509.UniformResourceIdentifier, asked.uris),
    ]
