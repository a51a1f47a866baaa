"""Requests for certificates are parsed without a library for it."""

from __future__ import annotations

import base64
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from kubeloop.apimachinery import pem
from kubeloop.apimachinery.certificate_request import CertificateRequest, RequestError, parse_request
from tests.testkit.certificate_requests import OF_A_MASTER, OF_ALICE, a_key, a_request


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


def test_other_names() -> None:
    """Each kind of alternative name by itself, in the order of the request; kinds nobody reads are passed over."""
    names = [
        x509.DNSName("node-0"),
        x509.RFC822Name("alice@example.com"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("fd00::1")),
        x509.UniformResourceIdentifier("spiffe://example.com/a"),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
        x509.DNSName("node-0.example.com"),
    ]

    actual = parse_request(a_request("alice", names=names))

    expected = CertificateRequest(
        "alice",
        (),
        dns_names=("node-0", "node-0.example.com"),
        emails=("alice@example.com",),
        addresses=("10.0.0.1", "fd00::1"),
        uris=("spiffe://example.com/a",),
    )
    assert expected == actual


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (b"node-0", b"node-\xff", "x509: SAN dNSName is malformed"),
        (b"a@example.com", b"\xff@example.com", "x509: SAN rfc822Name is malformed"),
        (b"spiffe://a", b"spiffe://\xff", "x509: SAN uniformResourceIdentifier is malformed"),
        (b"\x82\x06node-0", b"\x87\x06node-0", "x509: cannot parse IP address of length 6"),
    ],
)
def test_malformed_names(before: bytes, after: bytes, reason: str) -> None:
    """Names that are no ASCII and addresses of no known length are refused, as Go refuses them."""
    names = [
        x509.DNSName("node-0"),
        x509.RFC822Name("a@example.com"),
        x509.UniformResourceIdentifier("spiffe://a"),
    ]
    data = data_of(a_request("alice", names=names).decode()).replace(before, after)
    text = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.b64encode(data) + b"\n-----END CERTIFICATE REQUEST-----\n"

    with pytest.raises(RequestError) as refusal:
        parse_request(text)

    assert reason == str(refusal.value)


def test_of_several_common_names_the_last_counts() -> None:
    """As Go reads a subject: what is signed and what is checked must be the same name."""
    key = NameOID.COMMON_NAME
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(key, "alice"), x509.NameAttribute(key, "bob")])
    )
    text = builder.sign(a_key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    assert "bob" == parse_request(text).common_name
