"""Secrets of type kubernetes.io/service-account-token get a token, and go with their account."""

from __future__ import annotations

import asyncio
import base64
from functools import partial
from pathlib import Path

import pytest

from apiserver.auth.tokens.keyring import Keyring
from controllers import service_account_tokens
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, uid_of
from kubeloop.apimachinery.resource import SECRETS, SERVICE_ACCOUNTS
from kubeloop.testing.cluster import Cluster, Process, a_loop, run_cluster
from kubeloop.tokens import jwt, key_file

CA = "a bundle"


def a_secret(name: str = "robot-token", account: str = "robot", **fields: object) -> Object:
    annotations = {"kubernetes.io/service-account.name": account, **fields.pop("annotations", {})}  # type: ignore[dict-item]
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    return {**kind, "metadata": metadata, **fields}


def an_account(name: str = "robot", **fields: object) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}, **fields}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / key_file.NAME


def loops(file: Path, root_ca: str = CA) -> dict[str, Process]:
    return {"tokens": a_loop(partial(service_account_tokens.add_to, root_ca=root_ca, service_account_key=file))}


def data_of(secret: ReadOnlyObject) -> dict[str, str]:
    return {name: base64.b64decode(text).decode() for name, text in (secret.get("data") or {}).items()}


async def filled(cluster: Cluster, secret: ReadOnlyObject) -> Object:
    async def found() -> Object | None:
        read = await cluster.read(secret)
        return read if "token" in data_of(read) else None

    answer = await cluster.eventually(found)
    assert answer is not None
    return answer


async def names(cluster: Cluster) -> list[str]:
    return [secret["metadata"]["name"] for secret in await cluster.list(SECRETS)]


def test_a_secret_is_filled(file: Path) -> None:
    """Token, authority and namespace; annotations say whose it is, and the API server's key has signed it."""

    async def check(cluster: Cluster) -> tuple[Object, Object]:
        account = await cluster.create(an_account())
        return account, await filled(cluster, await cluster.create(a_secret(data={"mine": "bWluZQ=="})))

    account, secret = run_cluster(check, processes=loops(file))

    data = data_of(secret)
    token = jwt.take_apart(data.pop("token"))
    assert {"ca.crt": CA, "namespace": "default", "mine": "mine"} == data
    assert uid_of(account) == annotations_of(secret)["kubernetes.io/service-account.uid"]
    assert token is not None and token.is_signed_by_any(Keyring(file).verifying())
    assert {
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "robot-token",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": uid_of(account),
        "sub": "system:serviceaccount:default:robot",
    } == token.claims


def test_what_is_there_is_kept_and_what_is_lost_comes_back(file: Path) -> None:
    """A token that somebody wrote stays; one that was taken out is made anew, and a wrong bundle put right."""

    async def check(cluster: Cluster) -> tuple[dict[str, str], dict[str, str]]:
        await cluster.create(an_account())
        own = await cluster.create(a_secret("own", data={"token": "b3du", "ca.crt": "b3du"}))
        lost = await filled(cluster, await cluster.create(a_secret("lost")))
        await cluster.patch(lost, {"data": {"token": None, "namespace": None}})
        await cluster.clock.sleep(10)
        return data_of(await cluster.read(own)), data_of(await cluster.read(lost))

    own, lost = run_cluster(check, processes=loops(file))

    assert {"token": "own", "ca.crt": CA, "namespace": "default"} == own
    assert {"token", "ca.crt", "namespace"} == set(lost)


def test_a_filled_secret_is_written_once(file: Path) -> None:
    """Restarted, the loop finds nothing to do."""

    async def check(cluster: Cluster) -> int:
        await cluster.create(an_account())
        await filled(cluster, await cluster.create(a_secret()))
        await cluster.stop("tokens")
        cluster.start("tokens")
        await cluster.clock.sleep(30)
        return sum(write.process == "tokens" for write in cluster.writes)

    assert 1 == run_cluster(check, processes=loops(file))


def test_secrets_go_with_their_account(file: Path) -> None:
    """Those of others stay; so do Secrets of another kind."""

    async def check(cluster: Cluster) -> list[str]:
        account = await cluster.create(an_account())
        await cluster.create(an_account("other"))
        for secret in (a_secret(), a_secret("second"), a_secret("others", account="other")):
            await filled(cluster, await cluster.create(secret))
        await cluster.create({**a_secret("plain"), "type": "Opaque"})
        await cluster.delete(account)
        await cluster.clock.sleep(10)
        return await names(cluster)

    assert ["others", "plain"] == run_cluster(check, processes=loops(file))


@pytest.mark.parametrize(
    "secret", [a_secret(account="nobody"), a_secret(annotations={"kubernetes.io/service-account.uid": "another"})]
)
def test_a_secret_of_no_account_is_deleted(file: Path, secret: Object) -> None:
    """Nobody of that name, or of that uid."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(an_account())
        await cluster.create(secret)
        await cluster.clock.sleep(10)
        return await names(cluster)

    assert [] == run_cluster(check, processes=loops(file))


def test_an_account_that_was_made_anew_does_not_inherit(file: Path) -> None:
    """What was deleted while the loop was away goes with the old account."""

    async def check(cluster: Cluster) -> list[str]:
        account = await cluster.create(an_account())
        await filled(cluster, await cluster.create(a_secret()))
        await cluster.stop("tokens")
        await cluster.delete(account)
        await cluster.create(an_account())
        cluster.start("tokens")
        await cluster.clock.sleep(10)
        return await names(cluster)

    assert [] == run_cluster(check, processes=loops(file))


def test_an_account_forgets_a_token_that_was_deleted(file: Path) -> None:
    """Other Secrets stay in its list."""

    async def check(cluster: Cluster) -> list[str]:
        account = await cluster.create(an_account(secrets=[{"name": "robot-token"}, {"name": "mountable"}]))
        secret = await filled(cluster, await cluster.create(a_secret()))
        await cluster.clock.sleep(10)
        await cluster.delete(secret)
        await cluster.clock.sleep(10)
        found = await cluster.api.get(SERVICE_ACCOUNTS, account["metadata"]["name"], "default")
        return [reference["name"] for reference in found["secrets"]]

    assert ["mountable"] == run_cluster(check, processes=loops(file))


def test_a_key_that_cannot_be_used_is_tried_again(file: Path) -> None:
    """Once its file is put right, Secrets are filled."""

    file.write_text("no key")

    async def check(cluster: Cluster) -> dict[str, str]:
        await cluster.create(an_account())
        secret = await cluster.create(a_secret())
        await cluster.clock.sleep(30)
        early = data_of(await cluster.read(secret))
        await asyncio.to_thread(file.unlink)
        await filled(cluster, secret)
        return early

    assert {} == run_cluster(check, processes=loops(file))


def test_without_a_key_nothing_is_filled() -> None:
    """The loop is there, and has nothing to do."""

    async def check(cluster: Cluster) -> Object:
        await cluster.create(an_account())
        secret = await cluster.create(a_secret())
        await cluster.clock.sleep(30)
        return await cluster.read(secret)

    assert "data" not in run_cluster(check, processes={"tokens": a_loop(service_account_tokens.add_to)})


def test_the_namespace_may_go_with_everything(file: Path) -> None:
    """Whatever comes first, nothing is left to be tried again."""

    async def check(cluster: Cluster) -> int:
        account = await cluster.create(an_account())
        secret = await filled(cluster, await cluster.create(a_secret()))
        await cluster.delete(secret)
        await cluster.delete(account)
        await cluster.clock.sleep(60)
        before = len(cluster.writes)
        await cluster.clock.sleep(60)
        with pytest.raises(NotFound):
            await cluster.read(account)
        return len(cluster.writes) - before

    assert 0 == run_cluster(check, processes=loops(file))
