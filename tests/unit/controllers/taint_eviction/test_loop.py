"""Evictions from tainted nodes, in a living cluster."""

from collections.abc import Mapping
from typing import Any

from controllers import taint_eviction
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, is_being_deleted, name_of
from kubeloop.apimachinery.resource import EVENTS, NODES, PODS
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"eviction": a_loop(taint_eviction.add_to)}


async def a_pod_that_tolerates(cluster: Cluster, name: str, seconds: Mapping[str, int | None]) -> Object:
    """On node n; `seconds` by the key of the taint, None for ever."""
    tolerations: list[dict[str, Any]] = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            **({} if limit is None else {"tolerationSeconds": limit}),
        }
        for key, limit in seconds.items()
    ]
    return await cluster.create(a_pod(name).on("n").finalizers("example.com/stay").spec(tolerations=tolerations))


async def taint(cluster: Cluster, *keys: str) -> None:
    taints = [{"key": key, "effect": "NoExecute"} for key in keys]
    await cluster.api.patch(NODES, "n", {"spec": {"taints": taints or None}})


async def going(cluster: Cluster) -> set[str]:
    return {name_of(pod) for pod in await cluster.list(PODS) if is_being_deleted(pod)}


async def seconds_until_gone(cluster: Cluster, name: str) -> int:
    began = cluster.clock.monotonic()

    async def is_going() -> bool:
        return name in await going(cluster)

    await cluster.eventually(is_going, within_seconds=100)
    return round(cluster.clock.monotonic() - began)


async def told(cluster: Cluster) -> list[str]:
    await cluster.settled()
    return [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == "TaintManagerEviction"]


def test_who_does_not_tolerate_goes_at_once() -> None:
    """With a condition and an event that say why; others stay for ever or for their seconds."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        await cluster.create(a_node("n"))
        for name, seconds in {"plain": {}, "wrong": {"b": None}, "always": {"a": None}, "brief": {"a": 30}}.items():
            await a_pod_that_tolerates(cluster, name, seconds)
        await taint(cluster, "a")
        await seconds_until_gone(cluster, "plain")
        at_once = await going(cluster)
        after = await seconds_until_gone(cluster, "brief")
        plain = await cluster.api.get(PODS, "plain", "default")
        condition = dict(get_condition(conditions_of(plain), "DisruptionTarget") or {})
        return {
            "at once": at_once,
            "after": after,
            "in the end": await going(cluster),
            "why": (condition["reason"], condition["message"], condition["observedGeneration"]),
            "told": await told(cluster),
        }

    outcome = run_cluster(check, processes=LOOPS)

    assert {
        "at once": {"plain", "wrong"},
        "after": 30,
        "in the end": {"plain", "wrong", "brief"},
        "why": ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", 1),
        "told": [f"Marking for deletion Pod default/{name}" for name in ("brief", "plain", "wrong")],
    } == outcome


def test_an_eviction_is_called_off_with_the_taint() -> None:
    """And starts anew when the taint comes back."""

    async def check(cluster: Cluster) -> tuple[list[str], int]:
        await cluster.create(a_node("n"))
        await a_pod_that_tolerates(cluster, "p", {"a": 30})
        await taint(cluster, "a")
        await cluster.clock.sleep(20)
        await taint(cluster)
        await cluster.clock.sleep(20)
        messages = await told(cluster)
        await taint(cluster, "a")
        return messages, await seconds_until_gone(cluster, "p")

    assert (["Cancelling deletion of Pod default/p"], 30) == run_cluster(check, processes=LOOPS)


def test_a_running_time_is_not_moved() -> None:
    """A second taint that is tolerated for less changes nothing; one that is not tolerated ends it."""

    async def check(cluster: Cluster) -> list[int]:
        await cluster.create(a_node("n"))
        await a_pod_that_tolerates(cluster, "kept", {"a": 30, "b": 5, "c": None})
        await a_pod_that_tolerates(cluster, "ended", {"a": 80, "b": 80})
        await taint(cluster, "a")
        await cluster.clock.sleep(10)
        await taint(cluster, "a", "b")
        kept = await seconds_until_gone(cluster, "kept")
        await taint(cluster, "a", "b", "c")
        return [kept, await seconds_until_gone(cluster, "ended")]

    assert [20, 0] == run_cluster(check, processes=LOOPS)


def test_a_pod_that_comes_to_a_tainted_node_has_its_whole_time() -> None:
    """Its time starts when it is found there, not with the taint."""

    async def check(cluster: Cluster) -> int:
        await cluster.create(a_node("n"))
        await taint(cluster, "a")
        await cluster.clock.sleep(100)
        await a_pod_that_tolerates(cluster, "late", {"a": 30})
        return await seconds_until_gone(cluster, "late")

    assert 30 == run_cluster(check, processes=LOOPS)


def test_each_pod_is_deleted_once() -> None:
    """Whatever happens to it or its node while it lingers."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_node("n"))
        await a_pod_that_tolerates(cluster, "p", {})
        await taint(cluster, "a")
        await seconds_until_gone(cluster, "p")
        await cluster.api.patch(PODS, "p", {"metadata": {"labels": {"x": "y"}}}, "default")
        await taint(cluster, "a", "b")
        await cluster.settled()
        return [write.method for write in cluster.writes if write.process == "eviction" and "/pods/" in write.target]

    assert ["PATCH", "DELETE"] == run_cluster(check, processes=LOOPS)
