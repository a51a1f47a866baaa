"""The authority of a secure stack."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeloop.cli.certificates import Authority
from kubeloop.cli.options import UsageError

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def read(text: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(text.encode())


def test_a_server_certificate_is_good_for_its_names(tmp_path: Path) -> None:
    """Whoever trusts the authority accepts the server under each of them, and under no other."""
    authority = Authority.kept_in(tmp_path, NOW)
    issued = read(authority.for_server("kube-apiserver", ["localhost", "127.0.0.1"]).certificate)
    builder = verification.PolicyBuilder().store(verification.Store([read(authority.certificate)])).time(NOW)

    builder.build_server_verifier(x509.DNSName("localhost")).verify(issued, [])

    with pytest.raises(verification.VerificationError):
        builder.build_server_verifier(x509.DNSName("example.com")).verify(issued, [])


def test_a_client_certificate_names_user_and_groups(tmp_path: Path) -> None:
    """As common name and organizations; it is no server's."""
    issued = read(Authority.kept_in(tmp_path, NOW).for_client("alice", ["devs", "ops"]).certificate)

    names = {kind: [part.value for part in issued.subject.get_attributes_for_oid(kind)] for kind in _KINDS}
    assert {NameOID.COMMON_NAME: ["alice"], NameOID.ORGANIZATION_NAME: ["devs", "ops"]} == names
    usage = issued.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [ExtendedKeyUsageOID.CLIENT_AUTH] == list(usage)


_KINDS = (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)


def test_the_authority_is_kept(tmp_path: Path) -> None:
    """What it issued in an earlier run stays good; its key is for this user only."""
    first = Authority.kept_in(tmp_path, NOW).certificate

    assert first == Authority.kept_in(tmp_path, NOW + timedelta(days=30)).certificate
    assert 0o600 == (tmp_path / "ca.key").stat().st_mode & 0o777


@pytest.mark.parametrize("broken", ["ca.crt", "ca.key"])
def test_half_an_authority_is_refused(tmp_path: Path, broken: str) -> None:
    """It is never made anew behind the back of those who trust it."""
    Authority.kept_in(tmp_path, NOW)
    (tmp_path / broken).unlink()

    with pytest.raises(UsageError, match=broken):
        Authority.kept_in(tmp_path, NOW)


def test_an_authority_that_ended_is_refused(tmp_path: Path) -> None:
    """The user is told which files to remove."""
    Authority.kept_in(tmp_path, NOW)

    with pytest.raises(UsageError, match=r"ca\.crt has expired"):
        Authority.kept_in(tmp_path, NOW + timedelta(days=5000))
