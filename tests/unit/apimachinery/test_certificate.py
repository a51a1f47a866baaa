"""Certificates are read without a library for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubeloop.apimachinery.certificate import end_of
from kubeloop.authority import keep_authority, pem_of


@pytest.mark.parametrize("year", [2026, 2049, 2055])
def test_the_end_of_a_certificate(tmp_path: Path, year: int) -> None:
    """Before 2050 it is written with two digits of the year, later with four."""
    now = datetime(year, 1, 2, tzinfo=UTC)
    certificate = keep_authority(tmp_path / "ca.crt", tmp_path / "ca.key", "test", now).certificate

    assert certificate.not_valid_after_utc == end_of(pem_of(certificate).encode())


@pytest.mark.parametrize(
    "text", [b"", b"-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n", b"no certificate"]
)
def test_no_certificate_has_no_end(text: bytes) -> None:
    """Whatever it is, nothing is raised."""
    assert end_of(text) is None
