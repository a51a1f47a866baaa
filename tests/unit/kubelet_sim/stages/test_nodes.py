"""Nodes that are given over to stages, in an in-process cluster."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubelet_sim import node_object
from kubelet_sim.settings import Settings
from kubelet_sim.stages.sources import stages_of
from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, NODES
from kubeloop.apimachinery.times import parse_time
from kubeloop.apimachinery.yaml_text import parse_yaml
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.stages.stage import a_stage, where
from tests.unit.kubelet_sim.test_nodes import ready_nodes, run_nodes, writes_to

NOW = parse_time("2026-01-01T00:00:00Z")
NODE = {"apiGroup": "v1", "kind": "Node"}


async def the_node(cluster: Cluster) -> Object:
    return await cluster.api.get(NODES, "node-0")


def run_sets(check: Callable[[Cluster], Coroutine[Any, Any, None]], *sets: str) -> None:
    async def with_nodes(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        await check(cluster)

    run_nodes(with_nodes, nodes=2, stages=tuple(stages_of(sets)))


def test_a_node_is_initialised_and_beats_by_stages() -> None:
    """It keeps what it is, so that its pods are reached, and beats every ten minutes; its lease is renewed as ever."""

    async def check(cluster: Cluster) -> None:
        status = (await the_node(cluster))["status"]
        assert "Running" == status["phase"]
        assert get_condition(status["conditions"], "NetworkUnavailable")
        assert ("4", "kubeloop simulated node") == (status["capacity"]["cpu"], status["nodeInfo"]["osImage"])
        before = len(writes_to(cluster, "/nodes/node-0/status"))
        await cluster.clock.sleep(3100)
        assert before + 5 == len(writes_to(cluster, "/nodes/node-0/status"))
        after = (await the_node(cluster))["status"]["conditions"]
        ready = get_condition(after, "Ready") or {}
        assert ready["lastHeartbeatTime"] > ready["lastTransitionTime"]
        assert len(writes_to(cluster, "/leases/node-0")) > 100

    run_sets(check, "fast")


def test_a_node_fails_while_its_label_says_so() -> None:
    """With the reason of its annotation; without the label it is initialised again. Other nodes stay well."""
    name = "node-not-ready.stage.kwok.x-k8s.io"

    async def check(cluster: Cluster) -> None:
        said = {f"{name}/reason": "Burnt", f"{name}/type": "DiskPressure"}
        await cluster.patch(await the_node(cluster), {"metadata": {"labels": {name: "true"}, "annotations": said}})
        await cluster.clock.sleep(10)
        conditions = conditions_of(await the_node(cluster))
        assert ("False", "Burnt") == tuple(
            (get_condition(conditions, "Ready") or {})[one] for one in ("status", "reason")
        )
        assert is_true(conditions, "DiskPressure")
        assert 1 == len(await ready_nodes(cluster, 1)) - 1
        await cluster.patch(await the_node(cluster), {"metadata": {"labels": {name: None}}})
        await cluster.clock.sleep(10)
        conditions = conditions_of(await the_node(cluster))
        assert is_true(conditions, "Ready")
        assert not is_true(conditions, "DiskPressure")

    run_sets(check, "chaos")


def test_a_node_is_given_over_by_a_label_and_comes_back() -> None:
    """Before and after it reports as a kubelet does; meanwhile the stage has the last word."""
    ill = {"statusTemplate": 'conditions: [{type: Ready, status: "Unknown", reason: Staged}]'}
    selector = {
        "matchLabels": {"ill": "1"},
        **where('.status.conditions[] | select(.reason == "Staged")', "DoesNotExist"),
    }
    stages = (a_stage("ill", {**ill, "event": {"reason": "Ill"}}, resourceRef=NODE, selector=selector),)

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 2))
        await cluster.patch(await the_node(cluster), {"metadata": {"labels": {"ill": "1"}}})
        await cluster.clock.sleep(700)
        assert "Staged" == (get_condition(conditions_of(await the_node(cluster)), "Ready") or {})["reason"]
        assert 1 == [event["reason"] for event in await cluster.list(EVENTS)].count("Ill")
        await cluster.patch(await the_node(cluster), {"metadata": {"labels": {"ill": None}}})
        await cluster.eventually(lambda: ready_nodes(cluster, 2))

    run_nodes(check, nodes=2, stages=stages)


def test_what_a_node_is_can_be_written_unquoted() -> None:
    """kwok's own stages put the ids of nodeInfo into YAML as they are: none may be read as a number."""
    status = node_object.status(node_object.identity(Settings(), 7), Settings(), (), NOW)

    for text in status["nodeInfo"].values():
        assert isinstance(parse_yaml(f"x: {text or repr('')}".encode())["x"], str)
