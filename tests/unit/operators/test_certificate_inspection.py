"""What is read from a TLS Secret: whether its certificate is what the spec asks for, and when it is to be renewed."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.operators.certificate.authority import Authority, Obstacle, authority_of, pem_of
from examples.operators.certificate.inspection import Cause, Held, cause_to_issue, key_to_keep, renewal_time
from examples.operators.certificate.issuing import secret_with, sign
from examples.operators.certificate.keys import KeyKind, PrivateKey, key_pem, new_key
from examples.operators.certificate.model import Wanted
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import Builder
from kubeloop.testing.virtual_time import EPOCH
from tests.testkit.certificates import a_ca_secret, a_certificate, an_authority, damaged, defaulted, is_trusted

ALGORITHMS = [("ECDSA", 0), ("ECDSA", 384), ("ECDSA", 521), ("RSA", 2048), ("RSA", 3072), ("Ed25519", 0)]
USAGES = ["digital signature", "key encipherment", "key agreement", "server auth", "client auth", "ocsp signing"]


@cache
def a_key(kind: KeyKind) -> PrivateKey:
    """Long RSA keys take a while: one is enough."""
    return new_key(kind)


@cache
def the_ca(days: int = 3650) -> Authority:
    return an_authority(EPOCH, days=days)


def issued(certificate: Builder, authority: Authority | None, now: datetime = EPOCH) -> Object:
    wanted = Wanted.of(certificate)
    key = a_key(wanted.key_kind)
    return secret_with(sign(wanted, key, authority, now, random.Random(1)), key, authority, 1, certificate, None)


def cause(certificate: Builder, secret: Object | None, authority: Authority | None, now: datetime = EPOCH) -> str:
    found = cause_to_issue(Wanted.of(certificate), secret, authority, now)
    return found.reason if found else ""


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """What the schema lets through."""
    algorithm, size = draw(st.sampled_from([("ECDSA", 0), ("ECDSA", 384), ("Ed25519", 0)]))  # the quick ones
    names = draw(st.lists(st.sampled_from(["a.example.com", "*.b.example.com", "c"]), min_size=1, unique=True))
    addresses = draw(st.lists(st.sampled_from(["10.0.0.7", "fd00::7", "FD00:0::8"]), unique=True))
    return {
        "commonName": draw(st.sampled_from([None, "shop", "naïve & co."])),
        "dnsNames": names,
        "ipAddresses": addresses or None,
        "duration": f"{draw(st.integers(1, 5000))}h{draw(st.integers(0, 59))}m",
        "renewBefore": draw(st.sampled_from([None, "1s", "59m", "720h"])),
        "usages": draw(st.lists(st.sampled_from(USAGES), min_size=1, unique=True)),
        "privateKey": {"algorithm": algorithm, **({"size": size} if size else {})},
    }


@settings(max_examples=60)
@given(spec=specs(), signs_itself=st.booleans(), microsecond=st.integers(0, 999_999))
def test_what_was_issued_is_what_was_asked_for(spec: dict[str, Any], signs_itself: bool, microsecond: int) -> None:
    """Nothing is to be done about a certificate just issued, whatever the spec: or the loop would never end."""
    now = EPOCH + timedelta(microseconds=microsecond)
    certificate = defaulted(a_certificate(**spec, **({"caSecretName": None} if signs_itself else {})))
    authority = None if signs_itself else the_ca(days=100)

    secret = issued(certificate, authority, now)

    held = Held.by(secret)
    assert held is not None
    assert "" == cause(certificate, secret, authority, now)
    renewal = renewal_time(Wanted.of(certificate), held, authority)
    assert renewal is None or now < renewal < held.ends_at


@pytest.mark.parametrize(("algorithm", "size"), ALGORITHMS)
def test_clients_trust_every_kind_of_key(algorithm: str, size: int) -> None:
    """As key of the server and, for those that browsers take, of the CA."""
    kind = KeyKind.of(algorithm, size)
    root = defaulted(a_certificate("root", caSecretName=None, commonName="root", dnsNames=None, isCA=True))
    ca = sign(Wanted.of(root), a_key(kind), None, EPOCH, random.Random(2))
    key = {"algorithm": algorithm, **({"size": size} if size else {})}

    secret = issued(defaulted(a_certificate(privateKey=key)), Authority(ca, a_key(kind), b"", pem_of(ca)))

    assert is_trusted(secret, "shop.example.com", EPOCH + timedelta(days=1)) is (kind != KeyKind("Ed25519", 0))


def test_a_ca_between_is_shown_by_the_server() -> None:
    """tls.crt goes on with the CA's own certificate, and ca.crt is the root that clients know."""
    middle = defaulted(a_certificate("middle", commonName="middle", dnsNames=None, isCA=True))
    between = authority_of("middle", issued(middle, the_ca()), EPOCH)

    secret = issued(defaulted(a_certificate()), between)

    assert is_trusted(secret, "shop.example.com", EPOCH)
    assert the_ca().root == between.root
    assert "" == cause(defaulted(a_certificate()), secret, between)


@pytest.mark.parametrize(
    "spec",
    [
        {"commonName": "shop"},
        {"dnsNames": ["www.example.com"]},
        {"ipAddresses": ["10.0.0.7"]},
        {"isCA": True, "commonName": "shop"},
        {"usages": ["client auth"]},
        {"privateKey": {"algorithm": "ECDSA", "size": 384}},
        {"duration": "2161h"},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_each_field_of_the_spec_is_compared(spec: dict[str, Any]) -> None:
    """The message names the field that is not fulfilled."""
    secret = issued(defaulted(a_certificate()), the_ca())

    found = cause_to_issue(Wanted.of(defaulted(a_certificate(**spec))), secret, the_ca(), EPOCH)

    assert found is not None
    assert "SpecChanged" == found.reason
    assert next(iter(spec)) in found.message


def test_the_order_of_names_does_not_matter() -> None:
    """They are sets, and addresses are the same however they are spelled."""
    secret = issued(defaulted(a_certificate(dnsNames=["a", "b"], ipAddresses=["fd00::7"])), the_ca())

    assert "" == cause(defaulted(a_certificate(dnsNames=["b", "a"], ipAddresses=["FD00:0::7"])), secret, the_ca())


@pytest.mark.parametrize(
    ("days", "renew_before", "reason"),
    [
        (59, None, ""),
        (60, None, "Renewal"),
        (60, "480h", ""),
        (70, "480h", "Renewal"),
        (60, "2400h", "Renewal"),  # longer than it lives: as if nothing were said
        (90, None, "Expired"),
    ],
)
def test_it_is_renewed_in_time(days: int, renew_before: str | None, reason: str) -> None:
    """A third of its life before its end, or when the spec says."""
    certificate = defaulted(a_certificate(renewBefore=renew_before))
    secret = issued(certificate, the_ca())

    assert reason == cause(certificate, secret, the_ca(), EPOCH + timedelta(days=days))


def test_a_certificate_that_ends_with_its_ca_is_not_renewed() -> None:
    """Another one would end at the same time; once there is a CA that lives longer, it is signed by that."""
    certificate = defaulted(a_certificate())
    secret = issued(certificate, the_ca(days=30))

    assert "" == cause(certificate, secret, the_ca(days=30), EPOCH + timedelta(days=29))
    assert "CAChanged" == cause(certificate, secret, the_ca(), EPOCH + timedelta(days=29))


def test_only_what_cannot_be_used_is_urgent() -> None:
    """A certificate that is due is still good; one that is missing, damaged or over is not."""
    certificate = defaulted(a_certificate())
    secret = issued(certificate, the_ca())
    later, over = EPOCH + timedelta(days=60), EPOCH + timedelta(days=90)
    cases = [(secret, later), (None, EPOCH), (damaged(secret, tls_key=b""), EPOCH), (secret, over)]

    found = [cause_to_issue(Wanted.of(certificate), each, the_ca(), now) for each, now in cases]

    assert [("Renewal", False), ("Missing", True), ("Damaged", True), ("Expired", True)] == [
        (each.reason, each.is_urgent) for each in found if isinstance(each, Cause)
    ]


def test_a_key_is_kept_only_where_that_is_wanted_and_it_fits() -> None:
    """Also when the certificate beside it is damaged."""
    secret = damaged(issued(defaulted(a_certificate()), the_ca()), tls_crt=b"junk")
    wishes: list[dict[str, Any]] = [
        {"rotationPolicy": "Never"},
        {"rotationPolicy": "Always"},
        {"rotationPolicy": "Never", "algorithm": "Ed25519"},
    ]

    kept = [key_to_keep(Wanted.of(defaulted(a_certificate(privateKey=wish))), secret) for wish in wishes]

    assert [True, False, False] == [key is not None for key in kept]


@pytest.mark.parametrize(
    ("secret", "now", "said"),
    [
        (None, EPOCH, "waiting for Secret ca"),
        (Builder(metadata={"name": "ca"}), EPOCH, "cannot be read"),
        (damaged(a_ca_secret(an_authority(EPOCH)), tls_key=b"junk"), EPOCH, "cannot be read"),
        (
            damaged(a_ca_secret(an_authority(EPOCH)), tls_key=key_pem(a_key(KeyKind("Ed25519", 0)))),
            EPOCH,
            "not the key",
        ),
        (a_ca_secret(an_authority(EPOCH)), EPOCH + timedelta(days=3650), "is good from"),
        (a_ca_secret(an_authority(EPOCH)), EPOCH - timedelta(seconds=1), "is good from"),
    ],
)
def test_a_secret_that_cannot_sign_says_why(secret: Object | None, now: datetime, said: str) -> None:
    """In words that name what is to be mended."""
    with pytest.raises(Obstacle, match=said):
        authority_of("ca", secret, now)
