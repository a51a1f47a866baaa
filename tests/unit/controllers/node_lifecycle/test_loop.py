"""Nodes that fall silent and come back, in a living cluster."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from controllers import node_lifecycle
from controllers.node_lifecycle import monitor
from controllers.node_lifecycle.zones import Zones
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import EVENTS, NODES, PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers.heartbeats import heartbeats_of

LOOP = a_loop(node_lifecycle.add_to)
READY, UNREADY, UNKNOWN = ({"type": "Ready", "status": status} for status in ("True", "False", "Unknown"))
OTHERS = ("alive-1", "alive-2")
LOOPS = {"nodes": LOOP, "kubelets": heartbeats_of(*OTHERS)}


async def with_others(cluster: Cluster) -> None:
    for name in OTHERS:
        await cluster.create(a_node(name))


async def report(cluster: Cluster, name: str, *conditions: Object) -> None:
    await cluster.api.patch(NODES, name, {"status": {"conditions": list(conditions)}}, subresource="status")


async def taints_of(cluster: Cluster, name: str) -> list[str]:
    """`key:effect` without the prefix, in their order."""
    taints = (await cluster.api.get(NODES, name))["spec"].get("taints") or []
    return [f"{taint['key'].removeprefix('node.kubernetes.io/')}:{taint['effect']}" for taint in taints]


async def becomes(cluster: Cluster, name: str, *taints: str, within_seconds: float = 60) -> float:
    """Wait until the node has exactly these; the seconds that took."""
    began = cluster.clock.monotonic()

    async def has_them() -> bool:
        return sorted(await taints_of(cluster, name)) == sorted(taints)

    await cluster.eventually(has_them, within_seconds)
    return cluster.clock.monotonic() - began


async def a_running_pod(cluster: Cluster, name: str, node: str) -> Object:
    pod = await cluster.create(a_pod(name).on(node))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return await cluster.api.patch(PODS, name_of(pod), {"status": status}, "default", subresource="status")


async def messages(cluster: Cluster, reason: str) -> list[str]:
    return [event["message"] for event in await cluster.list(EVENTS) if event["reason"] == reason]


def test_a_new_node_can_be_used_at_once() -> None:
    """The taint it is born with goes, others stay; it is announced and its beta labels are added."""

    async def check(cluster: Cluster) -> tuple[list[str], Any, list[str]]:
        node = a_node("new").tainted("example.com/mine")
        node["metadata"]["labels"]["kubernetes.io/os"] = "linux"
        await cluster.create(node)
        await becomes(cluster, "new", "example.com/mine:NoSchedule", within_seconds=1)
        await cluster.settled()
        labels = (await cluster.api.get(NODES, "new"))["metadata"]["labels"]
        return (
            await taints_of(cluster, "new"),
            labels["beta.kubernetes.io/os"],
            await messages(cluster, "RegisteredNode"),
        )

    outcome = run_cluster(check, processes=LOOPS)

    assert (["example.com/mine:NoSchedule"], "linux", ["Node new event: Registered Node new in Controller"]) == outcome


def test_a_silent_node_is_unreachable() -> None:
    """50 seconds after its last sign of life: conditions, both taints, events, and pods that are not ready."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        await with_others(cluster)
        await cluster.create(a_node("silent"))
        await becomes(cluster, "silent")
        await a_running_pod(cluster, "p", "silent")
        await a_running_pod(cluster, "safe", "alive-1")
        seconds = await becomes(cluster, "silent", "unreachable:NoSchedule", "unreachable:NoExecute")
        await cluster.settled()
        node = await cluster.api.get(NODES, "silent")
        pods = await cluster.list(PODS)
        return {
            "seconds": 50 <= seconds <= 56,
            "conditions": [(condition["type"], condition["status"]) for condition in conditions_of(node)],
            "pods": [(get_condition(conditions_of(pod), "Ready") or {})["status"] for pod in pods],
            "events": sorted(await messages(cluster, "NodeNotReady")),
            "taints": await taints_of(cluster, "silent"),
            "others": await taints_of(cluster, "alive-1"),
        }

    outcome = run_cluster(check, processes=LOOPS)

    types = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    assert {
        "seconds": True,
        "conditions": [(type_, "Unknown") for type_ in types],
        "pods": ["False", "True"],
        "events": ["Node is not ready", "Node silent status is now: NodeNotReady"],
        "taints": ["unreachable:NoSchedule", "unreachable:NoExecute"],
        "others": [],
    } == outcome


def test_a_node_that_comes_back_is_as_before() -> None:
    """All taints of ours go when its kubelet reports Ready again."""

    async def check(cluster: Cluster) -> float:
        await with_others(cluster)
        await cluster.create(a_node("silent"))
        await becomes(cluster, "silent", "unreachable:NoSchedule", "unreachable:NoExecute", within_seconds=70)
        await report(cluster, "silent", {**READY, "lastHeartbeatTime": format_time(cluster.clock.now())})
        return await becomes(cluster, "silent")

    assert run_cluster(check, processes=LOOPS) < 1


def test_a_kubelet_that_never_reports_is_given_a_minute() -> None:
    """Then its node is unreachable, with every condition saying that nobody ever reported."""

    async def check(cluster: Cluster) -> tuple[float, set[str]]:
        await with_others(cluster)
        node = a_node("mute")
        node["status"]["conditions"] = []
        await cluster.create(node)
        seconds = await becomes(cluster, "mute", "unreachable:NoSchedule", "unreachable:NoExecute", within_seconds=90)
        conditions = conditions_of(await cluster.api.get(NODES, "mute"))
        return seconds, {condition["reason"] for condition in conditions}

    seconds, reasons = run_cluster(check, processes=LOOPS)

    assert 60 <= seconds <= 66
    assert {"NodeStatusNeverUpdated"} == reasons


def test_no_execute_taints_come_one_by_one() -> None:
    """One node every ten seconds in a zone; a change from not ready to unreachable does not wait."""

    async def check(cluster: Cluster) -> tuple[list[int], float]:
        await with_others(cluster)
        for number in range(2):
            await cluster.create(a_node(f"bad-{number}"))
        await cluster.settled()
        began = cluster.clock.monotonic()
        for number in range(2):
            await report(cluster, f"bad-{number}", UNREADY)
        seconds = []
        for number in range(2):
            await becomes(cluster, f"bad-{number}", "not-ready:NoSchedule", "not-ready:NoExecute")
            seconds.append(round(cluster.clock.monotonic() - began))
        await report(cluster, "bad-1", UNKNOWN)
        return seconds, await becomes(cluster, "bad-1", "unreachable:NoSchedule", "unreachable:NoExecute")

    seconds, swap_seconds = run_cluster(check, processes=LOOPS)

    assert [0, 10] == seconds
    assert swap_seconds < 1


def test_nobody_is_evicted_when_the_whole_cluster_is_down() -> None:
    """NoExecute taints go when the last node falls, and come back with the first node that does."""

    async def check(cluster: Cluster) -> list[list[str]]:
        for name in ("a", "b"):
            await cluster.create(a_node(name))
        await becomes(cluster, "b")
        seen = []
        await report(cluster, "a", UNREADY)
        await becomes(cluster, "a", "not-ready:NoSchedule", "not-ready:NoExecute")
        await report(cluster, "b", UNREADY)
        await becomes(cluster, "a", "not-ready:NoSchedule")
        await cluster.settled(quiet_seconds=15)
        seen += [await taints_of(cluster, "a"), await taints_of(cluster, "b")]
        await report(cluster, "b", READY)
        await becomes(cluster, "a", "not-ready:NoSchedule", "not-ready:NoExecute")
        return [*seen, await taints_of(cluster, "b")]

    seen = run_cluster(check, processes={"nodes": LOOP, "kubelets": heartbeats_of("a", "b")})

    assert [["not-ready:NoSchedule"], ["not-ready:NoSchedule"], []] == seen


def test_a_loop_that_died_in_between_finishes_what_it_began() -> None:
    """Pods of a node that it had found silent are marked by the next one, and no taint is taken back."""

    async def check(cluster: Cluster) -> tuple[list[str], str]:
        await with_others(cluster)
        await cluster.create(a_node("silent"))
        await becomes(cluster, "silent", "unreachable:NoSchedule", "unreachable:NoExecute", within_seconds=70)
        await cluster.stop("nodes")
        pod = await a_running_pod(cluster, "p", "silent")
        before = len(cluster.writes)
        cluster.start("nodes")
        await cluster.settled()
        patched = [write.target for write in cluster.writes[before:] if write.process == "nodes"]
        ready = get_condition(conditions_of(await cluster.read(pod)), "Ready") or {}
        return [target for target in patched if "/nodes/" in target], ready["status"]

    assert ([], "False") == run_cluster(check, processes=LOOPS)


def test_a_pod_given_to_an_unready_node_is_not_ready() -> None:
    """Whoever bound it there: nobody will run it."""

    async def check(cluster: Cluster) -> str:
        await with_others(cluster)
        await cluster.create(a_node("bad"))
        await report(cluster, "bad", UNREADY)
        await cluster.settled()
        pod = await cluster.create(a_pod("late"))
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        await cluster.api.patch(PODS, "late", {"status": status}, "default", subresource="status")
        binding = {"metadata": {"name": "late"}, "target": {"kind": "Node", "name": "bad"}}
        await cluster.api.create(PODS, binding, "default", subresource="binding", name="late")
        await cluster.settled()
        return (get_condition(conditions_of(await cluster.read(pod)), "Ready") or {})["status"]

    assert "False" == run_cluster(check, processes=LOOPS)


def test_thousands_of_changes_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more nodes there are, the fewer passes over all of them a second; the last change is not forgotten."""
    passes: list[int] = []

    class Counted(Zones):
        def update(
            self, zones: Collection[tuple[str, str]], ready: Mapping[tuple[str, str], Sequence[bool]], now: float
        ) -> None:
            passes.append(len(passes))
            super().update(zones, ready, now)

    monkeypatch.setattr(monitor, "Zones", Counted)

    async def check(cluster: Cluster) -> tuple[int, list[str]]:
        for i in range(200):
            await cluster.create(a_node(f"n{i}"))
            await cluster.clock.sleep(0.01)
        while_they_came = len(passes)
        await cluster.clock.sleep(1)
        await cluster.delete(a_node("n199"))
        await cluster.clock.sleep(1)
        return while_they_came, await messages(cluster, "RemovingNode")

    while_they_came, told = run_cluster(check, processes={"nodes": LOOP})

    assert while_they_came < 100
    assert ["Node n199 event: Removing Node n199 from Controller"] == told


def test_a_node_that_goes_is_announced() -> None:
    """Also where another one of its name has come meanwhile."""

    async def check(cluster: Cluster) -> list[str]:
        node = await cluster.create(a_node("going"))
        await cluster.settled()
        await cluster.delete(node)
        await cluster.create(a_node("going"))
        await cluster.settled()
        return [*await messages(cluster, "RegisteredNode"), *await messages(cluster, "RemovingNode")]

    registered = "Node going event: Registered Node going in Controller"
    removing = "Node going event: Removing Node going from Controller"
    assert [registered, registered, removing] == run_cluster(check, processes=LOOPS)
