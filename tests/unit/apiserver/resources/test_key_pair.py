"""Certificates and keys of TLS Secrets: whether they belong together."""

from __future__ import annotations

import base64

import pytest

from apiserver.resources.core.key_pair import KeyPairError, check_key_pair
from tests.testkit.kinds import KindOnTrial

SECRETS = KindOnTrial("v1", "Secret")

# Made for these tests: a certificate for an elliptic curve key, its key, and another key.
CERTIFICATE = (
    "MIIBbzCCARWgAwIBAgIUS7M5gY4nEFVaaQZ/ByFjFIeWjS4wCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYTAgFw0yNjExMzAwMDQ1"
    "MDZaGA8yMTI2MTEwNjAwNDUwNlowDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJocwS23KGSzmCgSF9oN"
    "x/gTIBHl4VbSOjQVu23vTNsb1Jv26ij5D01ObAJ9NQg0B/UsiV508V/kH/5hsicIBemjUzBRMB0GA1UdDgQWBBSEHsS9xLdwLxeJ"
    "qXO+GXHwTCSOcjAfBgNVHSMEGDAWgBSEHsS9xLdwLxeJqXO+GXHwTCSOcjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gA"
    "MEUCIQCgPWDfciKGi9dfXVSAVt4D7W1pgiiZsh6XWzMWLmXikwIgLu6IRz24p9Z31oVzVUFWY4GV41BlYjG7hURol+F1v24="
)
KEY = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp6NrSmb4Y1RWgRj1USHoZEh4lEQRcZY06y6QuSSkgsyhRANCAASa"
    "HMEttyhks5goEhfaDcf4EyAR5eFW0jo0Fbtt70zbG9Sb9uoo+Q9NTmwCfTUINAf1LIledPFf5B/+YbInCAXp"
)
OTHER_KEY = (
    "MHcCAQEEIBSwDVoH83Qii+mzhtXDkOX/qHM0eOfiw2li/w/eB2SMoAoGCCqGSM49AwEHoUQDQgAEfpYSubHfWWGEnDZywFVVGBNM"
    "w+i0UMnxiKfAJibWdEMdv+UCbq1NDHV9sTVc4QegrLOCSZGPUYMIHTf2QJAvEw=="
)


def pem(kind: str, data: str) -> bytes:
    return f"-----BEGIN {kind}-----\n{data}\n-----END {kind}-----\n".encode()


CRT, PKCS8, SEC1 = pem("CERTIFICATE", CERTIFICATE), pem("PRIVATE KEY", KEY), pem("EC PRIVATE KEY", OTHER_KEY)


def test_a_certificate_and_its_key_fit() -> None:
    """The pair a certificate was made with is accepted."""
    actual = check_key_pair(CRT, PKCS8)

    assert actual is None


@pytest.mark.parametrize(
    ("certificate", "key", "reason"),
    [
        (CRT, SEC1, "private key does not match public key"),
        (b"", b"", "failed to find any PEM data in certificate input"),
        (CRT, b"text", "failed to find any PEM data in key input"),
        (CRT, CRT, "found a certificate rather than a key in the PEM for the private key"),
        (
            PKCS8,
            CRT,
            "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have "
            "been switched",
        ),
        (CRT, pem("PRIVATE KEY", "AAAA"), "failed to parse private key"),
    ],
)
def test_what_does_not_fit_is_explained(certificate: bytes, key: bytes, reason: str) -> None:
    """Why a pair is no pair is said in Go's words."""
    with pytest.raises(KeyPairError) as refused:
        check_key_pair(certificate, key)

    assert f"tls: {reason}" == str(refused.value)


def test_a_secret_with_a_bad_pair_is_stored_with_a_warning() -> None:
    """A TLS Secret whose key is another certificate's is no error, but worth a warning."""
    data = {"tls.crt": base64.b64encode(CRT).decode(), "tls.key": base64.b64encode(SEC1).decode()}
    secret = {"type": "kubernetes.io/tls", "data": data}

    refusals, warnings = SECRETS.create_errors(secret), SECRETS.strategy.warnings(SECRETS.created(secret))

    assert [] == refusals
    assert ["tls: private key does not match public key"] == warnings
