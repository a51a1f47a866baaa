"""When a stack is ready."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from kubeloop.cli.readiness import takes_pods, wait_for_nodes, wait_for_server
from kubeloop.cli.supervisor import StartFailed
from kubeloop.client.api import Api
from kubeloop.client.transport import ConnectionFailed
from tests.testkit.reader import InstantClock
from tests.testkit.scripted import Answer, Script

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def a_node(ready: str = "True", *taints: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"taints": list(taints)}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def a_list(*nodes: dict[str, Any]) -> Answer:
    return Answer(chunks=[orjson.dumps({"items": nodes})])


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
    """The same count is not told twice."""
    said: list[str] = []
    lists = [a_list(), a_list(), a_list(a_node()), a_list(a_node(), a_node())]
    api = Api("http://x", Script([*lists]))

    asyncio.run(wait_for_nodes(api, 2, said.append, InstantClock()))

    assert ["nodes ready: 0 of 2", "nodes ready: 1 of 2", "nodes ready: 2 of 2"] == said


def test_nodes_that_never_come_end_the_start() -> None:
    """The reason names the logs to look into."""
    api = Api("http://x", Script([a_list() for _ in range(2000)]))

    with pytest.raises(StartFailed, match=r"only 0 of 1 nodes became ready; see kubelet-sim.log, controllers.log"):
        asyncio.run(wait_for_nodes(api, 1, lambda _: None, InstantClock()))


def test_a_server_is_waited_for() -> None:
    """Refused connections are nothing to worry about while it starts."""
    clock = InstantClock()
    script = Script([ConnectionFailed("refused"), ConnectionFailed("refused"), Answer(chunks=[b"{}"])])

    asyncio.run(wait_for_server(Api("http://x", script), clock))

    assert 3 == len(script.requests)
    assert clock.slept_seconds > 0


def test_a_server_that_never_answers_ends_the_start() -> None:
    """After a minute there is something to look into."""
    script = Script([ConnectionFailed("refused") for _ in range(2000)])

    with pytest.raises(StartFailed, match="the API server did not become ready"):
        asyncio.run(wait_for_server(Api("http://x", script), InstantClock()))
