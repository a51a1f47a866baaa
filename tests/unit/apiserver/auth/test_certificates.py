"""Users of client certificates."""

from __future__ import annotations

import hashlib

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.certificates import user_of

DER = b"certificate"
EXTRA = {"authentication.kubernetes.io/credential-id": [f"X509SHA256={hashlib.sha256(DER).hexdigest()}"]}


def subject(*parts: tuple[str, str]) -> dict[str, object]:
    """A certificate as the ssl module shows it."""
    return {"subject": tuple((part,) for part in parts)}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("commonName", "alice")], User("alice", "", ("system:authenticated",), EXTRA)),
        (
            [("organizationName", "devs"), ("organizationName", "ops"), ("commonName", "alice")],
            User("alice", "", ("devs", "ops", "system:authenticated"), EXTRA),
        ),
        (
            [("commonName", "bob"), ("1.3.6.1.4.1.57683.2", "bob-uid")],
            User("bob", "bob-uid", ("system:authenticated",), EXTRA),
        ),
        ([("commonName", "alice"), ("commonName", "bob")], User("bob", "", ("system:authenticated",), EXTRA)),
    ],
)
def test_whose_a_certificate_is(parts: list[tuple[str, str]], expected: User) -> None:
    """The last common name is the user, organizations are groups, and the certificate can be told by its hash."""
    assert expected == user_of(subject(*parts), DER)


def test_who_has_no_certificate() -> None:
    """No certificate, one that was not verified, and one without a common name stand for nobody."""
    assert user_of(None, None) is None
    assert user_of({}, DER) is None
    assert user_of(subject(("organizationName", "devs")), DER) is None
