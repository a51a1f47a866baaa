"""Requests for certificates are parsed without a library for it."""

from __future__ import annotations

import base64

import pytest

from kubeloop.apimachinery import pem
from kubeloop.apimachinery.certificate_request import CertificateRequest, RequestError, parse_request
from tests.testkit.certificate_requests import OF_A_MASTER, OF_ALICE


def with_changed_byte(text: str, position: int) -> bytes:
    data = data_of(text)
    changed = data[:position] + bytes([data[position] ^ 1]) + data[position:][1:]
    body = base64.b64encode(changed)
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + body + b"\n-----END CERTIFICATE REQUEST-----\n"


def data_of(text: str) -> bytes:
    return next(iter(pem.blocks(text.encode()))).data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OF_ALICE, CertificateRequest("alice", ("devs",))),
        (OF_A_MASTER, CertificateRequest("bob", ("system:masters",))),
        (f"text before\n{OF_ALICE}", CertificateRequest("alice", ("devs",))),
    ],
)
def test_subject(text: str, expected: CertificateRequest) -> None:
    """The subject says who asks, whatever the kind of key."""
    actual = parse_request(text.encode())

    assert expected == actual


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "PEM block type must be CERTIFICATE REQUEST"),
        (b"hello", "PEM block type must be CERTIFICATE REQUEST"),
        (OF_ALICE.replace(" REQUEST", "").encode(), "PEM block type must be CERTIFICATE REQUEST"),
        (with_changed_byte(OF_ALICE, -1), "crypto/rsa: verification error"),
        (with_changed_byte(OF_ALICE, data_of(OF_ALICE).index(b"devs")), "crypto/rsa: verification error"),
        (with_changed_byte(OF_ALICE, 0), "asn1: structure error: tags don't match (16 vs 17)"),
        (
            b"-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n",
            "asn1: syntax error: data truncated",
        ),
    ],
)
def test_refusals(text: bytes, reason: str) -> None:
    """No request, a cut off one, and one that was changed after it was signed are refused."""
    with pytest.raises(RequestError) as refusal:
        parse_request(text)

    assert reason == str(refusal.value)
