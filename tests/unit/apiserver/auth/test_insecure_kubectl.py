"""kubectl over plain HTTP, where it sends no credentials."""

from __future__ import annotations

import pytest

from apiserver.auth.authentication import Authenticator, TokenFile, User
from apiserver.auth.authorization import AlwaysAllow
from apiserver.auth.gate import Gate

ADMIN = User("kubernetes-admin", groups=("system:masters",))
KUBECTL = (b"user-agent", b"kubectl/v1.37.1 (linux/amd64)")
TOKENS = TokenFile.parse('t,alice,alice-uid,"devs"\n')


def _asked_by(gate: Gate, *headers: tuple[bytes, bytes]) -> str:
    return gate.admit("GET", "/api/v1/pods", {}, headers).name


def test_kubectl_without_credentials_is_the_user_the_server_was_told():
    """A plain-HTTP server with tokens can be used with kubectl, which drops them."""
    gate = Gate(Authenticator([TOKENS]).authenticate, AlwaysAllow(), ADMIN)

    assert "kubernetes-admin" == _asked_by(gate, KUBECTL)


def test_credentials_win_over_the_client_that_sends_them():
    """A kubectl that does send a token is the token's user."""
    gate = Gate(Authenticator([TOKENS]).authenticate, AlwaysAllow(), ADMIN)

    assert "alice" == _asked_by(gate, KUBECTL, (b"authorization", b"Bearer t"))


@pytest.mark.parametrize("agent", [b"curl/8.0", b"python-httpx/0.28", b"my-kubectl/1"])
def test_other_clients_without_credentials_are_anonymous(agent: bytes):
    """Only kubectl is known to drop what it has."""
    gate = Gate(Authenticator([TOKENS]).authenticate, AlwaysAllow(), ADMIN)

    assert "system:anonymous" == _asked_by(gate, (b"user-agent", agent))


def test_without_being_told_the_server_takes_kubectl_for_nobody():
    """The exception is off unless the flag names a user."""
    gate = Gate(Authenticator([TOKENS]).authenticate, AlwaysAllow())

    assert "system:anonymous" == _asked_by(gate, KUBECTL)
