"""Pods whose binding takes its time: which node they are about to get, and what happens when they are pushed out."""

from __future__ import annotations

from controllers.scheduler.interface import CycleState, PreBindPlugin
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.status import Status, failed
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.fake_server import FakeServer, with_scheduler


class Prepare(PreBindPlugin):
    """Takes 20 seconds for pods that are labelled so, and fails for others."""

    NAME = "Prepare"

    def will_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        return "prepare" in pod.labels

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        await self.handle.pause(20)
        return failed("no luck") if pod.labels["prepare"] == "fails" else None


PROFILES = (Profile(plugins=(*DEFAULT_PLUGINS, Entry(Prepare))),)


def a_slow_pod(name: str, outcome: str = "works") -> Object:
    return a_pod(name).requests(cpu="3").labels(prepare=outcome)


def expected_node(server: FakeServer, name: str) -> str:
    return server.pod(name)["status"].get("nominatedNodeName") or ""


def test_others_are_told_which_node_a_pod_is_about_to_get() -> None:
    """While its binding takes its time; of one that is bound at once nothing is said."""

    async def test(server: FakeServer) -> tuple[list[str], list[str], str]:
        server.put(a_node("a"))
        server.put(a_slow_pod("slow"))
        server.put(a_pod("quick"))
        await server.clock.sleep(5)
        expected = [expected_node(server, name) for name in ("slow", "quick")]
        bound = [server.node_of(name) for name in ("slow", "quick")]
        await server.clock.sleep(20)
        return expected, bound, server.node_of("slow")

    assert (["a", ""], ["", "a"], "a") == with_scheduler(test, profiles=PROFILES)


def test_a_binding_that_fails_says_where_and_takes_the_promise_back() -> None:
    """As an error of the plugin, which the pod is tried again after."""

    async def test(server: FakeServer) -> tuple[str, str, str]:
        server.put(a_node("a"))
        server.put(a_slow_pod("p", "fails"))
        await server.clock.sleep(20.5)
        condition = server.condition("p")
        return condition["reason"], condition["message"], expected_node(server, "p")

    message = 'running PreBind plugin "Prepare": no luck'
    assert ("SchedulerError", message, "") == with_scheduler(test, profiles=PROFILES)


def test_a_pod_that_is_pushed_out_before_it_is_bound_is_not_deleted() -> None:
    """Its binding is called off; it waits for another node, and the more important pod has its room."""

    async def test(server: FakeServer) -> tuple[str, str, list[str], list[str]]:
        server.put(a_node("a"))
        server.put(a_slow_pod("slow"))
        await server.clock.sleep(5)
        server.put(a_pod("urgent").requests(cpu="3").spec(priority=9))
        await server.clock.sleep(5)
        failures = [note for note in server.notes("FailedScheduling") if "preempted" in note]
        return server.node_of("urgent"), server.node_of("slow"), server.notes("Preempted"), failures

    urgent, slow, preempted, failures = with_scheduler(test, profiles=PROFILES)

    assert ("a", "") == (urgent, slow)
    assert ['running PreBind plugin "Prepare": preempted by DefaultPreemption'] == failures
    assert preempted == ["Preempted by pod uid-4 on node a (in kube-scheduler memory)."]
