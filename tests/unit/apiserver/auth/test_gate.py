"""What a request asks for, read off its path."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apiserver.auth.authentication import Authenticator, TokenFile, User
from apiserver.auth.authorization import Access, Decision, Rules
from apiserver.auth.gate import Gate, access_of
from kubeloop.apimachinery.errors import Forbidden, Unauthorized

ALICE = User("alice", "u", ("devs", "system:authenticated"))


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/healthz", {}, Access(ALICE, "get", path="/healthz")),
        ("POST", "/", {}, Access(ALICE, "post", path="/")),
        ("GET", "/api", {}, Access(ALICE, "get", path="/api")),
        ("GET", "/api/v1", {}, Access(ALICE, "get", path="/api/v1")),
        ("GET", "/apis/apps/v1/", {}, Access(ALICE, "get", path="/apis/apps/v1/")),
        ("GET", "/api/v1/nodes", {}, Access(ALICE, "list", "", "v1", "nodes")),
        ("GET", "/api/v1/nodes/n", {}, Access(ALICE, "get", "", "v1", "nodes", name="n")),
        (
            "GET",
            "/api/v1/namespaces/ns/pods",
            {"watch": ["1"]},
            Access(ALICE, "watch", "", "v1", "pods", namespace="ns"),
        ),
        (
            "GET",
            "/api/v1/namespaces/ns/pods/p",
            {"watch": ["1"]},
            Access(ALICE, "get", "", "v1", "pods", namespace="ns", name="p"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/ns/deployments/d/scale",
            {},
            Access(ALICE, "patch", "apps", "v1", "deployments", "scale", "ns", "d"),
        ),
        (
            "GET",
            "/api/v1/namespaces/ns/pods/p/proxy/a/b",
            {},
            Access(ALICE, "get", "", "v1", "pods", "proxy", "ns", "p"),
        ),
        ("GET", "/api/v1/namespaces/ns", {}, Access(ALICE, "get", "", "v1", "namespaces", namespace="ns", name="ns")),
        (
            "PUT",
            "/api/v1/namespaces/ns/finalize",
            {},
            Access(ALICE, "update", "", "v1", "namespaces", "finalize", "ns", "ns"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/ns/secrets",
            {},
            Access(ALICE, "deletecollection", "", "v1", "secrets", namespace="ns"),
        ),
        ("GET", "/api/v1/watch/nodes", {}, Access(ALICE, "watch", "", "v1", "nodes")),
        (
            "GET",
            "/api/v1/namespaces/ns/services",
            {"fieldSelector": ["metadata.name=one"]},
            Access(ALICE, "list", "", "v1", "services", namespace="ns", name="one", field_selector="metadata.name=one"),
        ),
        (
            "GET",
            "/api/v1/namespaces/ns/services",
            {"fieldSelector": ["metadata.name!=one"]},
            Access(ALICE, "list", "", "v1", "services", namespace="ns", field_selector="metadata.name!=one"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/ns/services",
            {"fieldSelector": ["metadata.name=one"]},
            Access(ALICE, "deletecollection", "", "v1", "services", namespace="ns", field_selector="metadata.name=one"),
        ),
        (
            "GET",
            "/apis/none.example.com/v1/things",
            {},
            Access(ALICE, "list", "none.example.com", "v1", "things"),
        ),
    ],
)
def test_what_a_request_asks_for(method: str, path: str, query: dict[str, list[str]], expected: Access) -> None:
    """Verb, group, resource, subresource, namespace and name come from the path alone."""
    assert expected == access_of(ALICE, method, path, query)


class Recording:
    """Allows impersonation and gets, and keeps what it was asked last."""

    def __init__(self) -> None:
        self.asked: Access | None = None

    def authorize(self, access: Access) -> Decision:
        self.asked = access
        return Decision(access.verb == "get" or access.verb.startswith("impersonate"))

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


def gate(authorizer: Recording) -> Gate:
    return Gate(Authenticator([TokenFile.parse('alicetoken,alice,u,"devs"')]).authenticate, authorizer)


TOKEN = (b"authorization", b"Bearer alicetoken")


def test_one_comes_in_as_oneself() -> None:
    """The token's user is the one who asks."""
    authorizer = Recording()

    user = gate(authorizer).admit("GET", "/api", {}, [TOKEN])

    assert (ALICE, Access(ALICE, "get", path="/api")) == (user, authorizer.asked)


def test_one_comes_in_as_another() -> None:
    """After impersonation the other one is asked about."""
    authorizer = Recording()

    user = gate(authorizer).admit("GET", "/api", {}, [TOKEN, (b"impersonate-user", b"bob")])

    bob = User("bob", groups=("system:authenticated",))
    assert (bob, replace(Access(ALICE, "get", path="/api"), user=bob)) == (user, authorizer.asked)


def test_a_wrong_token_and_a_missing_right_keep_one_out() -> None:
    """401 comes before 403, on every path."""
    with pytest.raises(Unauthorized):
        gate(Recording()).admit("GET", "/healthz", {}, [(b"authorization", b"Bearer wrong")])
    with pytest.raises(Forbidden):
        gate(Recording()).admit("POST", "/api/v1/nodes", {}, [TOKEN])
