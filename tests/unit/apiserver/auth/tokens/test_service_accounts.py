"""Issuing service account tokens and knowing them again."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from apiserver.auth.authentication import API_AUDIENCES, Identity, TokenRefused
from apiserver.auth.tokens.claims import Bound
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.service_accounts import (
    EXTENDED_SECONDS,
    MOUNTED_TOKEN_SECONDS,
    ServiceAccountTokens,
    TokenSettings,
)
from kubeloop.apimachinery.meta import Object
from kubeloop.tokens import jwt, key_file, keys
from tests.testkit.reader import DictReader, InstantClock

KEY = keys.generate().to_pem()
BOT: Object = {"metadata": {"name": "bot", "namespace": "apps", "uid": "bot-uid"}}
POD: Object = {"metadata": {"name": "web", "namespace": "apps", "uid": "web-uid"}}
NODE: Object = {"metadata": {"name": "node-0", "uid": "node-uid"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / key_file.NAME
    path.write_bytes(KEY)
    return path


class World:
    """Tokens over a few objects, at a time of its own."""

    def __init__(self, file: Path, settings: TokenSettings | None = None, others: Sequence[Path] = ()) -> None:
        self.reader = DictReader().put("serviceaccounts", BOT).put("pods", POD).put("nodes", NODE)
        self.clock = InstantClock()
        self.tokens = ServiceAccountTokens(self.reader, Keyring(file, others), self.clock, random.Random(1), settings)

    def issue(self, seconds: int = 600, audiences: Any = API_AUDIENCES, bound: Bound | None = None) -> str:
        return asyncio.run(self.tokens.issue(BOT, audiences, seconds, bound))

    def identify(self, token: str, audiences: Any = API_AUDIENCES) -> Identity | None:
        return self.tokens.identify(token, audiences)

    def later(self, seconds: float) -> None:
        asyncio.run(self.clock.sleep(seconds))


def test_a_token_stands_for_its_service_account(file: Path) -> None:
    """Name, uid and groups are the account's; the credential has an id of its own."""
    world = World(file)

    identity = world.identify(world.issue())

    assert identity is not None
    user = identity.user
    assert ("system:serviceaccount:apps:bot", "bot-uid") == (user.name, user.uid)
    assert ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated") == user.groups
    assert ["authentication.kubernetes.io/credential-id"] == list(user.extra)
    assert API_AUDIENCES == identity.audiences


def test_what_a_token_says(file: Path) -> None:
    """The claims are those of Kubernetes."""
    world = World(file)
    now = int(world.clock.now().timestamp())

    token = jwt.take_apart(world.issue(900, ["a", "b"]))

    assert token is not None
    expected = {
        "aud": ["a", "b"],
        "exp": now + 900,
        "iat": now,
        "iss": "https://kubernetes.default.svc",
        "kubernetes.io": {"namespace": "apps", "serviceaccount": {"name": "bot", "uid": "bot-uid"}},
        "nbf": now,
        "sub": "system:serviceaccount:apps:bot",
    }
    assert expected == {name: value for name, value in token.claims.items() if name != "jti"}


def test_a_token_ends(file: Path) -> None:
    """A minute after its time is over it is refused, and the reason is told."""
    world = World(file)
    token = world.issue(600)

    world.later(655)
    assert world.identify(token) is not None

    world.later(10)
    with pytest.raises(TokenRefused, match="service account token has expired"):
        world.identify(token)


def test_a_token_for_others_is_none_for_this_server(file: Path) -> None:
    """It is good for whoever it was issued for."""
    world = World(file)
    token = world.issue(audiences=["vault", "other"])

    with pytest.raises(TokenRefused) as refused:
        world.identify(token)

    expected = (
        'token audiences ["vault" "other"] is invalid for the target audiences ["https://kubernetes.default.svc"]'
    )
    assert expected == str(refused.value)
    identity = world.identify(token, ["more", "other"])
    assert identity is not None and ("other",) == identity.audiences


@pytest.mark.parametrize(
    ("resource", "changed", "reason"),
    [
        ("serviceaccounts", {**BOT["metadata"], "uid": "new"}, r"service account UID \(new\) does not match claim"),
        (
            "serviceaccounts",
            {**BOT["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "service account apps/bot has been deleted",
        ),
        ("pods", {**POD["metadata"], "uid": "new"}, r"pod UID \(new\) does not match service account pod ref claim"),
        ("pods", {**POD["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}, "token has been invalidated"),
        ("pods", {**POD["metadata"], "name": "other"}, "token has been invalidated"),
    ],
)
def test_a_token_lives_as_long_as_what_it_names(file: Path, resource: str, changed: Object, reason: str) -> None:
    """Account and bound object must still be there, with the same uid."""
    world = World(file)
    token = world.issue(bound=Bound("pod", POD))
    assert world.identify(token) is not None

    world.reader = DictReader().put("serviceaccounts", BOT).put("pods", *([] if resource == "pods" else [POD]))
    world.reader.put(resource, {"metadata": changed})
    world.tokens._reader = world.reader

    with pytest.raises(TokenRefused, match=reason):
        world.identify(token)


def test_a_pods_token_tells_pod_and_node(file: Path) -> None:
    """Authorization and audit learn them from the user."""
    world = World(file)

    identity = world.identify(world.issue(bound=Bound("pod", POD, NODE)))

    assert identity is not None
    shown = {name.partition("/")[2]: value for name, value in identity.user.extra.items()}
    del shown["credential-id"]
    expected = {"node-name": ["node-0"], "node-uid": ["node-uid"], "pod-name": ["web"], "pod-uid": ["web-uid"]}
    assert expected == shown


@pytest.mark.parametrize(
    ("bound", "audiences", "extends", "expected"),
    [
        (Bound("pod", POD), API_AUDIENCES, True, EXTENDED_SECONDS),
        (Bound("pod", POD), API_AUDIENCES, False, MOUNTED_TOKEN_SECONDS),
        (Bound("pod", POD), ["other"], True, MOUNTED_TOKEN_SECONDS),
        (None, API_AUDIENCES, True, MOUNTED_TOKEN_SECONDS),
    ],
)
def test_mounted_tokens_outlive_their_time(
    file: Path, bound: Bound | None, audiences: Any, extends: bool, expected: int
) -> None:
    """Only those a kubelet mounts into a pod, for this server, and only where that is wanted."""
    world = World(file, TokenSettings(extends_mounted_tokens=extends))

    token = jwt.take_apart(world.issue(MOUNTED_TOKEN_SECONDS, audiences, bound))

    assert token is not None
    assert expected == token.claims["exp"] - token.claims["iat"]
    assert (expected == EXTENDED_SECONDS) == ("warnafter" in token.claims["kubernetes.io"])


def test_a_token_of_another_key_is_refused(file: Path, tmp_path: Path) -> None:
    """The right issuer's name is not enough."""
    strange = tmp_path / "strange.key"
    strange.write_bytes(keys.generate().to_pem())
    token = World(strange).issue()

    with pytest.raises(TokenRefused, match="invalid signature, no keys found"):
        World(file).identify(token)


def test_a_key_that_signed_before_still_verifies(file: Path, tmp_path: Path) -> None:
    """--service-account-key-file keeps the tokens of an older key good."""
    token = World(file).issue()
    world = World(tmp_path / "new.key", others=[file])

    assert world.identify(token) is not None


def test_another_issuers_token_is_not_looked_at(file: Path) -> None:
    """Other sources may know it."""
    token = World(file, TokenSettings(issuers=["https://elsewhere"])).issue()

    assert World(file).identify(token) is None
    assert World(file, TokenSettings(issuers=["https://kubernetes.default.svc", "https://elsewhere"])).identify(token)


def test_the_key_is_made_once_and_kept(tmp_path: Path) -> None:
    """Readable for its owner only; a server that starts again verifies the tokens of before."""
    path = tmp_path / key_file.NAME
    first, second = World(path), World(path)

    token = first.issue()

    assert 0o600 == path.stat().st_mode & 0o777
    assert second.identify(token) is not None
    assert [key_file.NAME] == [file.name for file in tmp_path.iterdir()]


def test_no_key_is_made_to_verify(tmp_path: Path) -> None:
    """A server that never issued a token knows that none is its own."""
    path = tmp_path / key_file.NAME
    token = World(tmp_path / "strange.key").issue()

    with pytest.raises(TokenRefused, match="no keys found"):
        World(path).identify(token)

    assert not path.exists()


def test_two_first_requests_make_one_key() -> None:
    """Without a file, as with --storage=memory, too."""

    async def both() -> list[str]:
        keyring = Keyring()
        found = await asyncio.gather(keyring.signing(), keyring.signing())
        return [key.public.key_id for key in found]

    first, second = asyncio.run(both())

    assert first == second


def test_a_server_without_tokens_loads_no_cryptography() -> None:
    """Its start stays as quick as it was."""
    program = "import sys, apiserver.main; print([m for m in sys.modules if m.startswith('cryptography')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
