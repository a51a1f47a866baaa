"""Certificates that are issued on requests."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controllers.certificates.issuing import AuthorityExpired, NotIssued, Wanted, issue
from controllers.certificates.signer import lifetime
from kubeloop.apimachinery.certificate_request import parse_request
from kubeloop.authority import AUTHORITY_DAYS, Authority, keep_authority
from tests.testkit.certificate_requests import OF_ALICE, a_key, a_request

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return keep_authority(tmp_path / "ca.crt", tmp_path / "ca.key", "test", NOW)


def issued(
    authority: Authority, request: bytes, *usages: str, lasts: timedelta = DAY, now: datetime = NOW
) -> x509.Certificate:
    wanted = Wanted(request, parse_request(request), usages or ("client auth",), lasts)
    return x509.load_pem_x509_certificate(issue(authority, wanted, now).encode())


def test_names_come_from_the_request(authority: Authority) -> None:
    """Subject, alternative names and key; it is signed by the authority and says so."""
    names = [x509.DNSName("foo"), x509.IPAddress(ipaddress.ip_address("10.0.0.1"))]
    certificate = issued(authority, a_request("system:node:foo", "system:nodes", names=names))

    certificate.verify_directly_issued_by(authority.certificate)
    assert a_key().public_key() == certificate.public_key()
    parts = [[(part.oid, part.value) for part in group] for group in certificate.subject.rdns]
    assert [[(NameOID.ORGANIZATION_NAME, "system:nodes")], [(NameOID.COMMON_NAME, "system:node:foo")]] == parts
    asked = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert (names, False) == (list(asked.value), asked.critical)


def test_usages_come_from_the_object(authority: Authority) -> None:
    """Those of keys and the extended ones; it is no authority whatever the request says."""
    usages = ("digital signature", "key encipherment", "client auth", "server auth")
    extensions = issued(authority, OF_ALICE.encode(), *usages).extensions

    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (True, True, False) == (usage.value.digital_signature, usage.value.key_encipherment, usage.value.crl_sign)
    extended = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH] == list(extended)
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_values_of_one_kind_share_a_part_of_the_subject(authority: Authority) -> None:
    """As Go writes subjects; the same one twice is one."""
    subject = issued(authority, a_request("alice", "devs", "ops", "devs")).subject

    assert [{"devs", "ops"}, {"alice"}] == [{part.value for part in group} for group in subject.rdns]


@pytest.mark.parametrize(
    ("lasts", "expected"),
    [
        (HOUR, NOW + HOUR),
        (8 * HOUR, NOW + 8 * HOUR - timedelta(minutes=5)),
        (DAY, NOW + DAY - timedelta(minutes=5)),
        (20_000 * DAY, NOW + AUTHORITY_DAYS * DAY),
    ],
)
def test_how_long_it_is_good(authority: Authority, lasts: timedelta, expected: datetime) -> None:
    """From five minutes ago; long ones end as much earlier, and none is good for longer than its authority."""
    certificate = issued(authority, OF_ALICE.encode(), lasts=lasts)

    life = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    assert (NOW - timedelta(minutes=5), expected) == life


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(None, DAY), (600, timedelta(minutes=10)), (60, timedelta(minutes=10)), (7200, 2 * HOUR), (1_000_000, DAY)],
)
def test_what_is_asked_for_counts_within_limits(asked: int | None, expected: timedelta) -> None:
    """Ten minutes at least, and what the flag allows at most."""
    assert expected == lifetime(asked, DAY)


def test_an_authority_that_ended_signs_nothing(authority: Authority) -> None:
    """Not even what would have been good before."""
    with pytest.raises(AuthorityExpired):
        issued(authority, OF_ALICE.encode(), now=NOW + (AUTHORITY_DAYS + 1) * DAY)


def test_who_does_not_hold_the_key_gets_nothing(authority: Authority) -> None:
    """The signature of the request is verified for keys of every kind."""
    data = x509.load_pem_x509_csr(a_request("alice"))
    other = x509.load_pem_x509_csr(a_request("bobby"))
    body = data.tbs_certrequest_bytes
    forged = _with_signature_of(body, other)

    with pytest.raises(NotIssued, match="signature"):
        issued(authority, forged)


def _with_signature_of(body: bytes, other: x509.CertificateSigningRequest) -> bytes:
    """A request whose signature belongs to another one."""
    encoded = other.public_bytes(Encoding.DER).replace(other.tbs_certrequest_bytes, body)
    text = base64.b64encode(encoded)
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + text + b"\n-----END CERTIFICATE REQUEST-----\n"
