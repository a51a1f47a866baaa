"""Tokens that lie in Secrets."""

from __future__ import annotations

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from apiserver.auth.authentication import API_AUDIENCES, Identity, TokenRefused
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.legacy import LegacyTokens
from kubeloop.apimachinery.meta import Object
from kubeloop.tokens import jwt, key_file, keys
from kubeloop.tokens.legacy import claims_of
from tests.testkit.reader import DictReader

KEY = keys.generate()
BOT: Object = {"metadata": {"name": "bot", "namespace": "apps", "uid": "bot-uid"}}
NAMED: Object = {"metadata": {"name": "bot-token", "namespace": "apps", "uid": "secret-uid"}}
CLAIMS = claims_of(BOT, NAMED)
TOKEN = jwt.encode(CLAIMS, KEY)


def a_secret(token: str = TOKEN, **metadata: Any) -> Object:
    data = {"token": base64.b64encode(token.encode()).decode()}
    return {"metadata": {**NAMED["metadata"], **metadata}, "data": data}


def identify(
    folder: Path,
    token: str = TOKEN,
    secret: Object | None = None,
    account: Object = BOT,
    audiences: Any = API_AUDIENCES,
) -> Identity | None:
    file = folder / key_file.NAME
    file.write_bytes(KEY.to_pem())
    reader = DictReader().put("serviceaccounts", account).put("secrets", secret or a_secret())
    return LegacyTokens(reader, Keyring(file), API_AUDIENCES).identify(token, audiences)


def test_a_token_stands_for_its_account(tmp_path: Path) -> None:
    """For this server, which it does not name, and with no id of its own."""
    identity = identify(tmp_path)

    assert identity is not None
    assert ("system:serviceaccount:apps:bot", "bot-uid") == (identity.user.name, identity.user.uid)
    assert ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated") == identity.user.groups
    assert (API_AUDIENCES, {}) == (identity.audiences, identity.user.extra)


def test_others_tokens_are_not_looked_at(tmp_path: Path) -> None:
    """Another source may know them."""
    assert identify(tmp_path, jwt.encode({**CLAIMS, "iss": "https://kubernetes.default.svc"}, KEY)) is None
    assert identify(tmp_path, "no token") is None


def without(claim: str) -> str:
    return jwt.encode({name: value for name, value in CLAIMS.items() if name != claim}, KEY)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (without("sub"), "sub claim is missing"),
        (without("kubernetes.io/serviceaccount/namespace"), "namespace claim is missing"),
        (without("kubernetes.io/serviceaccount/secret.name"), "secretName claim is missing"),
        (without("kubernetes.io/serviceaccount/service-account.name"), "serviceAccountName claim is missing"),
        (without("kubernetes.io/serviceaccount/service-account.uid"), "serviceAccountUID claim is missing"),
        (jwt.encode({**CLAIMS, "sub": "system:serviceaccount:apps:other"}, KEY), "sub claim is invalid"),
        (jwt.encode(CLAIMS, keys.generate()), "invalid signature, no keys found"),
    ],
)
def test_what_a_token_must_say(tmp_path: Path, token: str, reason: str) -> None:
    """A signature alone is not enough, and neither are claims."""
    with pytest.raises(TokenRefused) as refused:
        identify(tmp_path, token, a_secret(token))

    assert reason == str(refused.value)


@pytest.mark.parametrize(
    ("secret", "account", "reason"),
    [
        (a_secret(name="other"), BOT, "Token has been invalidated"),
        (a_secret(deletionTimestamp="2026-01-01T00:00:00Z"), BOT, "Token has been invalidated"),
        (a_secret("another"), BOT, "Token does not match server's copy"),
        ({"metadata": NAMED["metadata"]}, BOT, "Token does not match server's copy"),
        (a_secret(), {"metadata": {**BOT["metadata"], "name": "other"}}, 'serviceaccounts "bot" not found'),
        (
            a_secret(),
            {"metadata": {**BOT["metadata"], "uid": "new"}},
            "ServiceAccount UID (new) does not match claim (bot-uid)",
        ),
        (
            a_secret(),
            {"metadata": {**BOT["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            "ServiceAccount apps/bot has been deleted",
        ),
    ],
)
def test_a_token_lives_as_long_as_secret_and_account(
    tmp_path: Path, secret: Object, account: Object, reason: str
) -> None:
    """And only as long as it is the one that the Secret holds."""
    with pytest.raises(TokenRefused) as refused:
        identify(tmp_path, secret=secret, account=account)

    assert reason == str(refused.value)


def test_a_token_that_was_marked_is_refused(tmp_path: Path) -> None:
    """The label says since when, and the refusal how to go on."""
    secret = a_secret(labels={"kubernetes.io/legacy-token-invalid-since": "2026-01-01"})

    with pytest.raises(TokenRefused, match=r"the token in secret apps/bot-token .* has been marked invalid"):
        identify(tmp_path, secret=secret)


def test_uses_are_told(tmp_path: Path) -> None:
    """Of tokens that are good, and of those that were marked: somebody still has them."""
    file = tmp_path / key_file.NAME
    file.write_bytes(KEY.to_pem())
    told: list[str] = []
    for labels in ({}, {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}):
        reader = DictReader().put("serviceaccounts", BOT).put("secrets", a_secret(labels=labels))
        tokens = LegacyTokens(reader, Keyring(file), API_AUDIENCES, lambda used: told.append(used["metadata"]["name"]))
        with suppress(TokenRefused):
            tokens.identify(TOKEN, API_AUDIENCES)

    assert ["bot-token", "bot-token"] == told


def test_a_token_for_others_is_none(tmp_path: Path) -> None:
    """It is good for this server and nobody else."""
    with pytest.raises(TokenRefused, match=r"is invalid for the target audiences \[\"vault\"\]"):
        identify(tmp_path, audiences=["vault"])


def test_a_key_made_by_another_process_is_seen(tmp_path: Path) -> None:
    """A server that has no key yet looks again: the loop of token Secrets may have made it."""
    file = tmp_path / key_file.NAME
    keyring = Keyring(file)
    assert not keyring.verifying()

    made = key_file.read_or_make(file)

    assert [made.public.key_id] == [key.key_id for key in keyring.verifying()]
    assert made.public.key_id == key_file.read_or_make(file).public.key_id
    assert [key_file.NAME] == [found.name for found in tmp_path.iterdir()]


def test_who_makes_the_key_second_takes_the_first_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that find none at once sign with the same."""
    file = tmp_path / key_file.NAME
    first = keys.generate()

    def meanwhile() -> keys.PrivateKey:
        file.write_bytes(first.to_pem())
        return KEY

    monkeypatch.setattr(keys, "generate", meanwhile)

    assert first.public.key_id == key_file.read_or_make(file).public.key_id
