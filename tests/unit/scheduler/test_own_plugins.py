"""Plugins that users write: the example in the documentation, and what happens to those that are broken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from controllers.scheduler.events import ASSIGNED_POD_ADD, ClusterEvent, Hint, RegisteredEvent
from controllers.scheduler.interface import (
    BindPlugin,
    CycleState,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    ReservePlugin,
    ScorePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.status import SKIP, Code, Status, unschedulable
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.fake_server import FakeServer, with_scheduler

DOCS = Path(__file__).parents[3] / "docs" / "scheduler.md"


def a_profile(*plugins: type[Plugin], **args: Any) -> Sequence[Profile]:
    """The default plugins, after these; `args` are those of the first one."""
    return [Profile(plugins=(*map(Entry, plugins), *DEFAULT_PLUGINS), args={plugins[0].NAME: args})]


def documented(name: str) -> type[Plugin]:
    """The class of that name in the documentation."""
    block = next(found for found in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL) if name in found)
    module: dict[str, Any] = {"__name__": name}
    exec(block, module)
    plugin: type[Plugin] = module[name]
    return plugin


# The example with several points -----------------------------------------------------------------------------------


def member(name: str, cpu: str = "3") -> Object:
    return a_pod(name).requests(cpu=cpu).labels(gang="g", **{"gang-size": "3"})


def test_the_gang_of_the_documentation_is_bound_together() -> None:
    """First two wait for a third, in PreFilter; then they wait for its room, in Permit. Others are bound meanwhile."""

    async def test(server: FakeServer) -> tuple[str, list[str], str, list[str]]:
        for name in ("a", "b"):
            server.put(a_node(name))
        for name in ("p", "q"):
            server.put(member(name))
        await server.clock.sleep(15)
        missing = server.condition("p")["message"]
        server.put(member("r"))
        await server.clock.sleep(5)
        server.put(a_pod("other"))
        await server.clock.sleep(10)
        held, other = [server.node_of(name) for name in "pqr"], server.node_of("other")
        server.put(a_node("c"))
        await server.clock.sleep(60)
        return missing, held, other, sorted(server.node_of(name) for name in "pqr")

    missing, held, other, placed = with_scheduler(test, profiles=a_profile(documented("Gang"), waitSeconds=20))

    assert "2 of 3 pods of gang g are there" in missing
    assert (["", "", ""], True) == (held, bool(other))
    assert ["a", "b", "c"] == placed


# What plugins may do that ours do not -------------------------------------------------------------------------------


class Picky(FilterPlugin):
    """Wants another pod on the node; does not say which events it waits for."""

    NAME = "Picky"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if pod.name != "p" or node.pods else unschedulable("node is lonely")


def test_a_plugin_that_names_no_events_is_asked_again_after_any() -> None:
    """As upstream has it: nobody else knows what it waits for."""

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(5)
        before = server.node_of("p")
        server.put(a_pod("q"))
        await server.clock.sleep(2)
        return before, server.node_of("p")

    assert ("", "a") == with_scheduler(test, profiles=a_profile(Picky))


class Late(PreBindPlugin):
    """Refuses the first attempt when it is too late for a refusal."""

    NAME = "Late"
    attempts = 0

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        Late.attempts += 1
        return unschedulable("not yet") if Late.attempts == 1 else None


def test_who_refuses_after_permit_is_asked_again_after_a_backoff() -> None:
    """Without any event; and it is told in the plugin's own words, not counted by nodes."""
    Late.attempts = 0

    async def test(server: FakeServer) -> tuple[list[str], str]:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(10)
        return server.notes("FailedScheduling"), server.node_of("p")

    assert (["not yet"], "a") == with_scheduler(test, profiles=a_profile(Late))


class HoldTen(PermitPlugin):
    NAME = "HoldTen"
    seconds = 10.0

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        return (Status(Code.WAIT), self.seconds) if "held" in pod.labels else (None, 0)


class HoldNinety(HoldTen):
    NAME = "HoldNinety"
    seconds = 90.0


def test_a_plugin_that_has_allowed_a_pod_does_not_give_it_up() -> None:
    """The time of those that still hold it back counts alone; it is told as Go prints it."""

    async def test(server: FakeServer) -> tuple[list[str], str]:
        server.put(a_node("a"))
        server.put(a_pod("p").labels(held="yes"))
        await server.clock.sleep(5)
        (waiting,) = server.scheduler.waiting.pods()
        server.scheduler.waiting.allow(waiting.uid, "HoldTen")
        await server.clock.sleep(80)
        early = server.notes("FailedScheduling")
        await server.clock.sleep(6)
        return early, server.condition("p")["message"]

    early, message = with_scheduler(test, profiles=a_profile(HoldTen, HoldNinety))

    assert [] == early
    assert "1 rejected due to timeout after waiting 1m30s at plugin HoldNinety." in message


def test_a_pod_that_is_preempted_while_it_is_held_back_is_tried_again() -> None:
    """It is not deleted, and waits for no event: nothing is wrong with it."""

    async def test(server: FakeServer) -> tuple[list[str], str, str, list[str]]:
        server.put(a_node("a"))
        server.put(a_pod("low").requests(cpu="3").labels(held="yes"))
        await server.clock.sleep(1)
        server.put(a_pod("high").requests(cpu="3").spec(priority=9))
        await server.clock.sleep(8)
        return (
            server.notes("Preempted"),
            server.node_of("high"),
            server.node_of("low"),
            server.notes("FailedScheduling"),
        )

    preempted, high, low, failures = with_scheduler(test, profiles=a_profile(HoldNinety))

    (note,) = preempted
    assert note.endswith(" on node a (in kube-scheduler memory).")
    assert ("a", "") == (high, low)
    assert "waiting on permit for pod: preempted" in failures
    assert failures[-1].startswith("0/1 nodes are available: 1 Insufficient cpu.")  # it was tried again


# Broken ones --------------------------------------------------------------------------------------------------------


def oops(pod: PodInfo) -> None:
    if pod.name == "bad":
        raise RuntimeError("oops")


class BrokenReserve(ReservePlugin):
    NAME = "BrokenReserve"

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return oops(pod)

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        oops(pod)


class BrokenPermit(PermitPlugin):
    NAME = "BrokenPermit"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        return oops(pod), 0


class BrokenPreBind(PreBindPlugin):
    NAME = "BrokenPreBind"

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return oops(pod)


class BrokenBind(BindPlugin):
    NAME = "BrokenBind"

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        oops(pod)
        return SKIP


class BrokenGate(PreEnqueuePlugin):
    NAME = "BrokenGate"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return oops(pod)


@pytest.mark.parametrize("plugin", [BrokenReserve, BrokenPermit, BrokenPreBind, BrokenBind, BrokenGate])
def test_a_plugin_that_is_broken_costs_nobody_else_anything(plugin: type[Plugin]) -> None:
    """Wherever it is asked: the pod is refused, its room is free again, and the scheduler goes on."""

    async def test(server: FakeServer) -> tuple[str, str, set[str]]:
        server.put(a_node("a"))
        server.put(a_pod("bad").requests(cpu="3"))
        await server.clock.sleep(0.5)
        server.put(a_pod("good").requests(cpu="3"))
        await server.clock.sleep(0.4)  # before the bad one is tried again
        return server.node_of("bad"), server.node_of("good"), set(server.notes("FailedScheduling"))

    bad, good, notes = with_scheduler(test, profiles=a_profile(plugin))

    assert ("", "a") == (bad, good)
    assert notes == (set() if plugin is BrokenGate else {"RuntimeError: oops"})


class BrokenPostBind(PostBindPlugin):
    NAME = "BrokenPostBind"

    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        oops(pod)


def test_a_bound_pod_stays_bound_whatever_comes_after() -> None:
    async def test(server: FakeServer) -> tuple[str, str, list[str]]:
        server.put(a_node("a"))
        for name in ("bad", "good"):
            server.put(a_pod(name))
        await server.clock.sleep(5)
        return server.node_of("bad"), server.node_of("good"), server.notes("FailedScheduling")

    assert ("a", "a", []) == with_scheduler(test, profiles=a_profile(BrokenPostBind))


class BrokenHint(Picky):
    NAME = "BrokenHint"

    def events(self) -> Sequence[RegisteredEvent]:
        return (RegisteredEvent(ClusterEvent(ASSIGNED_POD_ADD.resource, ASSIGNED_POD_ADD.action), _fails),)


def _fails(pod: PodInfo, old: Any, new: Any) -> Hint:
    raise RuntimeError("oops")


def test_a_hint_that_fails_has_the_pod_tried_again() -> None:
    """The event may have helped; the pod would else wait for minutes."""

    async def test(server: FakeServer) -> str:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(5)
        server.put(a_pod("q"))
        await server.clock.sleep(2)
        return server.node_of("p")

    assert "a" == with_scheduler(test, profiles=a_profile(BrokenHint))


class Boundless(ScorePlugin):
    NAME = "Boundless"

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        return [7] * (len(nodes) - 1) if pod.name == "few" else [1000] * len(nodes)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("many", "returns an invalid score 1000, it should in the range of [0, 100] after normalizing"),
        ("few", "returns 1 scores for 2 nodes"),
    ],
)
def test_scores_without_bounds_are_refused(name: str, fault: str) -> None:
    """They would drown all others."""

    async def test(server: FakeServer) -> str:
        for node in ("a", "b"):
            server.put(a_node(node))
        server.put(a_pod(name))
        await server.clock.sleep(1)
        message: str = server.condition(name)["message"]
        return message

    expected = f'applying score defaultWeights on Score plugins: plugin "Boundless" {fault}'
    assert expected == with_scheduler(test, profiles=a_profile(Boundless))


# Pods that go meanwhile ---------------------------------------------------------------------------------------------


def test_of_a_pod_that_went_while_it_was_bound_the_event_tells() -> None:
    """There is no status left to write into, and it is not tried again."""

    async def test(server: FakeServer) -> tuple[list[str], int, str]:
        server.refusals.append(NotFound.of("pods", "", "p"))
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(1)
        server.remove("p")
        await server.clock.sleep(30)
        return server.notes("FailedScheduling"), len(server.status_patches), server.scheduler.queue.where("uid-2")

    expected = ['running Bind plugin "DefaultBinder": pods "p" not found']
    assert (expected, 0, "") == with_scheduler(test, bind_seconds=2)
