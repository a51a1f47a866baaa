"""CA bundles."""

from __future__ import annotations

import base64

import pytest

from kubeloop.apimachinery.ca_bundle import ca_bundle_error

INTRO = "unable to load root certificates"


def pem(kind: str, data: bytes) -> bytes:
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (kind.encode(), base64.b64encode(data), kind.encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", ""),
        (pem("CERTIFICATE", b"\x30\x00"), ""),
        (pem("CERTIFICATE", b"x") + pem("CERTIFICATE", b"\x30\x00"), ""),
        (b"not a certificate", f"{INTRO}: unable to parse bytes as PEM block"),
        (pem("PRIVATE KEY", b"\x30\x00"), f"{INTRO}: no valid certificate authority data seen"),
        (pem("CERTIFICATE", b"x"), f"{INTRO}: failed to parse certificate: x509: malformed certificate"),
    ],
)
def test_what_a_bundle_holds(text: bytes, reason: str) -> None:
    """One certificate is enough, and none at all trusts those of the system."""
    assert reason == ca_bundle_error(base64.b64encode(text).decode())
