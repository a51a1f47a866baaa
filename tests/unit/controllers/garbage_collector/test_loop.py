"""The garbage collector in a living cluster."""

from typing import Any

import pytest

from controllers import garbage_collector
from kubeloop.apimachinery.meta import Object, finalizers_of, name_of, namespace_of, owner_references_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, EVENTS, SECRETS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import Builder, a_config_map, a_namespace
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"garbagecollector": a_loop(garbage_collector.add_to)}
GHOST = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "ghost", "uid": "11111111-2222-3333-4444-555555555555"},
}


async def config_maps(cluster: Cluster) -> dict[str, Object]:
    """By name, but for the server's own."""
    found = await cluster.list(CONFIG_MAPS)
    return {name_of(obj): obj for obj in found if namespace_of(obj) != "kube-system"}


async def names(cluster: Cluster) -> set[str]:
    return set(await config_maps(cluster))


async def gone(cluster: Cluster, *expected: str) -> None:
    async def is_gone() -> bool:
        return not await names(cluster) & set(expected)

    await cluster.eventually(is_gone)


async def chain(cluster: Cluster) -> tuple[Object, Object, Object]:
    """a owns b owns c."""
    a = await cluster.create(a_config_map("a"))
    b = await cluster.create(a_config_map("b").owned_by(a))
    return a, b, await cluster.create(a_config_map("c").owned_by(b))


@pytest.mark.parametrize(("policy", "left"), [("Background", set()), ("Foreground", set()), ("Orphan", {"b", "c"})])
def test_what_a_deletion_leaves(policy: str, left: set[str]) -> None:
    """Everything owned goes with its owner, or stays without it."""

    async def check(cluster: Cluster) -> tuple[set[str], Any]:
        a, _, _ = await chain(cluster)
        await cluster.settled()
        await cluster.delete(a, propagation_policy=policy)
        await gone(cluster, "a")
        await cluster.settled()
        found = await config_maps(cluster)
        return set(found), owner_references_of(found["b"]) if "b" in found else []

    assert (left, []) == run_cluster(check, processes=LOOPS)


def test_foreground_waits_for_what_blocks() -> None:
    """The owner stays while a dependent that blocks it is held by somebody's finalizer."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        a = await cluster.create(a_config_map("a"))
        held = await cluster.create(a_config_map("held").owned_by(a).finalizers("example.com/hold"))
        await cluster.delete(a, propagation_policy="Foreground")
        await cluster.settled()
        waiting = finalizers_of(await cluster.read(a))
        await cluster.patch(held, {"metadata": {"finalizers": None}})
        await gone(cluster, "a", "held")
        return tuple(waiting)

    assert ("foregroundDeletion",) == run_cluster(check, processes=LOOPS)


def test_an_owner_that_is_left_keeps_the_object() -> None:
    """References to owners that are gone, or never were, are dropped."""

    async def check(cluster: Cluster) -> list[str]:
        a, b = await cluster.create(a_config_map("a")), await cluster.create(a_config_map("b"))
        child = a_config_map("child").owned_by(a)
        for owner in (b, GHOST):
            child.owned_by(owner)
            child["metadata"]["ownerReferences"][-1]["controller"] = False
        created = await cluster.create(child)
        await cluster.settled()
        await cluster.delete(a)
        await cluster.settled()
        return [ref["name"] for ref in owner_references_of(await cluster.read(created))]

    assert ["b"] == run_cluster(check, processes=LOOPS)


def test_objects_of_owners_that_never_were_go() -> None:
    """Absent, of another uid, or in another namespace; the last is told of."""

    async def check(cluster: Cluster) -> tuple[set[str], list[str]]:
        await cluster.create(a_namespace("other"))
        near = await cluster.create(a_config_map("near"))
        far = await cluster.create(a_config_map("far").namespace("other"))
        other_uid = {**near, "metadata": {**near["metadata"], "uid": GHOST["metadata"]["uid"]}}
        for name, owner in (("a", GHOST), ("b", other_uid), ("c", far), ("kept", near)):
            await cluster.create(a_config_map(name).owned_by(owner))
        await gone(cluster, "a", "b", "c")
        await cluster.settled()
        return await names(cluster), [event["reason"] for event in await cluster.list(EVENTS, "default")]

    left, told = run_cluster(check, processes=LOOPS)

    assert ({"near", "far", "kept"}, ["OwnerRefInvalidNamespace"]) == (left, told)


def test_a_kind_nobody_knows_is_left_alone() -> None:
    """It may be served again later."""

    async def check(cluster: Cluster) -> set[str]:
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "1"}}
        await cluster.create(a_config_map("a").owned_by(widget))
        await cluster.clock.sleep(300)
        return await names(cluster)

    assert {"a"} == run_cluster(check, processes=LOOPS)


def test_a_collector_that_was_away_catches_up() -> None:
    """What lost its owner while nobody looked is collected at the start."""

    async def check(cluster: Cluster) -> set[str]:
        a, _, _ = await chain(cluster)
        await cluster.settled()
        await cluster.stop("garbagecollector")
        await cluster.delete(a, propagation_policy="Background")
        cluster.start("garbagecollector")
        await gone(cluster, "a", "b", "c")
        return await names(cluster)

    assert set() == run_cluster(check, processes=LOOPS)


def test_many_dependents_take_one_request_each() -> None:
    """A known absent owner is not asked for again, and what the cache shows is deleted as it is."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        owner = await cluster.create(a_config_map("owner"))
        for i in range(100):
            secret = Builder(apiVersion="v1", kind="Secret", metadata={"name": f"s{i}", "namespace": "default"})
            await cluster.create(secret.owned_by(owner), SECRETS)
        await cluster.settled()
        before = len(cluster.writes)
        await cluster.delete(owner, propagation_policy="Background")
        await gone(cluster, "owner")
        await cluster.settled()
        return len(await cluster.list(SECRETS, "default")), len(cluster.writes) - before

    assert (0, 101) == run_cluster(check, processes=LOOPS)


def test_nothing_but_metadata_is_mirrored() -> None:
    """Of ConfigMaps, which no other loop of the process looks at, neither names nor contents of their data are kept."""
    managers: list[Manager] = []

    def add_to(manager: Manager) -> None:
        managers.append(manager)
        garbage_collector.add_to(manager)

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("web", secret="s" * 1000))
        await cluster.settled()  # the loop has asked for its informers
        mirrored = managers[0].metadata_informer(CONFIG_MAPS)
        await cluster.eventually(lambda: "web" in map(name_of, mirrored.list()))
        assert {"apiVersion", "kind", "metadata"} == {field for obj in mirrored.list() for field in obj}

    run_cluster(check, processes={"garbagecollector": a_loop(add_to)})
