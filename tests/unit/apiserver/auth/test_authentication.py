"""Tokens, token files and anonymous requests."""

import pytest

from apiserver.auth.authentication import Authenticator, TokenFile, TokenRefused, User
from kubeloop.apimachinery.errors import Unauthorized

FILE = """
admintoken,admin,admin-uid,"system:masters"
alicetoken,alice,alice-uid,"devs,ops"
bobtoken,bob,bob-uid,""
plain,carol,carol-uid
,nobody,x
"""


def authenticator(allow_anonymous: bool = True) -> Authenticator:
    return Authenticator([TokenFile.parse(FILE)], allow_anonymous)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer alicetoken", User("alice", "alice-uid", ("devs", "ops", "system:authenticated"))),
        ("bearer   bobtoken", User("bob", "bob-uid", ("system:authenticated",))),
        ("Bearer plain", User("carol", "carol-uid", ("system:authenticated",))),
        ("", User("system:anonymous", "", ("system:unauthenticated",))),
        ("Basic YWxpY2U6eA==", User("system:anonymous", "", ("system:unauthenticated",))),
        ("Bearer ", User("system:anonymous", "", ("system:unauthenticated",))),
    ],
)
def test_who_a_request_is_from(header: str, expected: User) -> None:
    """Known tokens have their user and system:authenticated; no bearer token is nobody."""
    assert expected == authenticator().authenticate(header)


@pytest.mark.parametrize(("header", "allow"), [("Bearer wrong", True), ("", False)])
def test_a_wrong_token_is_unauthorized(header: str, allow: bool) -> None:
    """So is no token at all where anonymous requests are off."""
    with pytest.raises(Unauthorized) as refused:
        authenticator(allow).authenticate(header)

    expected = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    assert expected == refused.value.to_status()


def test_file_tokens_are_meant_for_this_server_only() -> None:
    """Asked about other audiences they are nobody's."""
    identity = authenticator().identify("alicetoken", ["other", "https://kubernetes.default.svc"])

    assert ("https://kubernetes.default.svc",) == identity.audiences
    with pytest.raises(TokenRefused, match="invalid bearer token, token lookup failed"):
        authenticator().identify("alicetoken", ["other"])


def test_a_broken_token_file_says_where() -> None:
    """The line is named."""
    with pytest.raises(ValueError, match="token file line 2: found 2 columns"):
        TokenFile.parse("a,b,c\nd,e\n")


def test_a_client_certificate_wins_over_a_token() -> None:
    """The owner of the certificate is who asks, whatever token is sent along."""
    carol = User("carol", groups=("system:authenticated",))

    assert carol == authenticator().authenticate("Bearer alicetoken", carol)
