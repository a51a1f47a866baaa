"""When a stack is ready."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from kubeloop.apimachinery.forwarding import SIMULATED_OS
from kubeloop.apimachinery.resource import NODES
from kubeloop.cli.readiness import nodes_asked_for, takes_pods, wait_for_nodes, wait_for_server
from kubeloop.cli.supervisor import StartFailed
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed
from kubeloop.testing import builders
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.testkit.reader import InstantClock
from tests.testkit.scripted import Answer, Script

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def simulated(name: str) -> builders.NodeBuilder:
    """A node as kubelet_sim registers it, and Ready."""
    node = builders.a_node(name)
    node["status"]["nodeInfo"] = {"osImage": SIMULATED_OS}
    return node


def a_node(ready: str = "True", *taints: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"taints": list(taints)}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (a_node(), True),
        (a_node("True", {"key": "mine", "effect": "NoSchedule"}), True),
        (a_node("False"), False),
        (a_node("Unknown"), False),
        (a_node("True", NOT_READY), False),
        ({"spec": {}, "status": {}}, False),
        ({}, False),
    ],
)
def test_a_node_takes_pods_once_it_is_ready_and_untainted(node: dict[str, Any], expected: bool) -> None:
    """Ready alone is not enough: the taint of its first seconds keeps the scheduler away."""
    assert expected == takes_pods(node)


def test_progress_is_told_when_it_changes() -> None:
    """The same count is not told twice, however often nodes change."""

    async def check(cluster: Cluster) -> list[int]:
        said: list[int] = []
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(wait_for_nodes(cluster.api, 2, said.append, cluster.clock, random.Random(1)))
            await cluster.clock.sleep(1)
            await cluster.add_node(simulated("a").labels(first="seen"))
            await cluster.clock.sleep(1)
            await cluster.api.patch(NODES, "a", {"metadata": {"labels": {"first": "changed"}}})
            await cluster.clock.sleep(1)
            assert not waiting.done()
            await cluster.add_node(simulated("b"))
        return said

    assert [0, 1, 2] == run_cluster(check)


def test_nodes_that_are_too_many_are_waited_for_to_go() -> None:
    """Where there are to be fewer, those that are left over are not yet what was asked for."""

    async def check(cluster: Cluster) -> None:
        for name in ("a", "b"):
            await cluster.add_node(simulated(name))
        await wait_for_nodes(cluster.api, 1, lambda _: None, cluster.clock, random.Random(1))
        async with asyncio.TaskGroup() as tasks:
            exact = wait_for_nodes(cluster.api, 1, lambda _: None, cluster.clock, random.Random(1), and_no_more=True)
            waiting = tasks.create_task(exact)
            await cluster.clock.sleep(5)
            assert not waiting.done()
            await cluster.api.delete(NODES, "b")

    run_cluster(check)


def test_nodes_that_never_come_end_the_start() -> None:
    """The reason names the logs to look into."""

    async def check(cluster: Cluster) -> None:
        await wait_for_nodes(cluster.api, 1, lambda _: None, cluster.clock, random.Random(1))

    with pytest.raises(StartFailed, match=r"only 0 of 1 nodes became ready; see kubelet-sim.log, controllers.log"):
        run_cluster(check)


def test_nodes_that_never_go_are_counted_as_they_are() -> None:
    """Who asked for fewer is not told that too few became ready."""

    async def check(cluster: Cluster) -> None:
        for name in ("a", "b", "c"):
            await cluster.add_node(simulated(name))
        await wait_for_nodes(cluster.api, 1, lambda _: None, cluster.clock, random.Random(1), and_no_more=True)

    with pytest.raises(StartFailed, match=r"there are still 3 nodes, 1 were asked for; see kubelet-sim.log"):
        run_cluster(check)


def test_nodes_that_others_made_are_not_waited_for() -> None:
    """They are neither the ones that were asked for nor too many."""

    async def check(cluster: Cluster) -> list[int]:
        said: list[int] = []
        await cluster.add_node(builders.a_node("by-hand"))
        async with asyncio.TaskGroup() as tasks:
            exact = wait_for_nodes(cluster.api, 1, said.append, cluster.clock, random.Random(1), and_no_more=True)
            waiting = tasks.create_task(exact)
            await cluster.clock.sleep(1)
            assert not waiting.done()
            await cluster.add_node(simulated("a"))
        return said

    assert [0, 1] == run_cluster(check)


@pytest.mark.parametrize(("text", "expected"), [(None, 3), ("5", 5), ("0", 0)])
def test_the_number_that_the_cluster_asks_for_wins(text: str | None, expected: int) -> None:
    async def check(cluster: Cluster) -> int:
        if text is not None:
            await cluster.create(builders.a_config_map("kubeloop-nodes", nodes=text).namespace("kube-system"))
        return await nodes_asked_for(cluster.api, 3, pytest.fail)

    assert expected == run_cluster(check)


def test_a_number_that_is_none_is_told_and_does_not_keep_the_stack_from_starting() -> None:
    """It can only be mended while the stack runs."""

    async def check(cluster: Cluster) -> tuple[int, list[str]]:
        told: list[str] = []
        await cluster.create(builders.a_config_map("kubeloop-nodes", nodes="many").namespace("kube-system"))
        return await nodes_asked_for(cluster.api, 3, told.append), told

    nodes, told = run_cluster(check)
    assert nodes == 3
    assert len(told) == 1 and "data.nodes is 'many': write a number from 0 to 65000; until then 3 nodes" in told[0]


def test_a_server_is_waited_for() -> None:
    """Refused connections are nothing to worry about while it starts."""
    clock = InstantClock()
    script = Script([ConnectionFailed("refused"), ConnectionFailed("refused"), Answer(chunks=[b"{}"])])

    asyncio.run(wait_for_server(Api("http://x", script), clock))

    assert 3 == len(script.requests)
    assert clock.slept_seconds > 0


def test_a_server_that_never_answers_ends_the_start() -> None:
    """After two minutes there is something to look into."""
    script = Script([ConnectionFailed("refused") for _ in range(4000)])

    with pytest.raises(StartFailed, match="the API server did not become ready"):
        asyncio.run(wait_for_server(Api("http://x", script), InstantClock()))
