"""The whole loop against a server in memory, on virtual time."""

from __future__ import annotations

from typing import Any

from controllers.scheduler.interface import CycleState, FilterPlugin, PermitPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS, Entry
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.scheduler import MAX_WRITES
from controllers.scheduler.status import Code, Status
from kubeloop.apimachinery.errors import InternalError
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.fake_server import FakeServer, with_scheduler


def test_a_pod_is_bound_and_people_are_told() -> None:
    """A binding and a Scheduled event, in kube-scheduler's words."""

    async def test(server: FakeServer) -> tuple[str, dict[str, Any]]:
        server.put(a_node("node-1"))
        server.put(a_pod("web"))
        await server.clock.sleep(1)
        told = ("type", "reason", "action", "note", "reportingController")
        return server.node_of("web"), {field: server.events[0][field] for field in told}

    event = {
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned default/web to node-1",
        "reportingController": "default-scheduler",
    }
    assert ("node-1", event) == with_scheduler(test)


def test_a_node_is_never_over_committed() -> None:
    """Of two pods that fill a node each, the second waits even while the first one's binding is on its way."""

    async def test(server: FakeServer) -> tuple[list[str], str]:
        server.put(a_node("a"))
        for name in ("p", "q"):
            server.put(a_pod(name).requests(cpu="3"))
        await server.clock.sleep(60)
        return [server.node_of("p"), server.node_of("q")], server.condition("q")["reason"]

    assert (["a", ""], "Unschedulable") == with_scheduler(test, bind_seconds=5)


def test_many_pods_fill_the_nodes_exactly() -> None:
    """A hundred pods on nodes for ninety: ninety run, no node has more than it can hold."""

    async def test(server: FakeServer) -> list[int]:
        for number in range(9):
            server.put(a_node(f"n{number}").capacity(cpu="10"))
        for number in range(100):
            server.put(a_pod(f"p{number}").requests(cpu="1"))
        await server.clock.sleep(30)
        nodes = [server.node_of(f"p{number}") for number in range(100)]
        return sorted(nodes.count(name) for name in set(nodes))

    assert [10] * 10 == with_scheduler(test)


def test_a_failed_binding_frees_the_room_and_is_tried_again() -> None:
    """An error costs the pod an attempt and a backoff, and nobody else anything."""

    async def test(server: FakeServer) -> tuple[str, str, list[str]]:
        server.refusals.append(InternalError("no luck"))
        server.put(a_node("a"))
        server.put(a_pod("p").requests(cpu="3"))
        await server.clock.sleep(0.5)
        reason = server.condition("p")["reason"]
        await server.clock.sleep(10)
        return reason, server.node_of("p"), server.notes("FailedScheduling")

    expected = ("SchedulerError", "a", ['running Bind plugin "DefaultBinder": no luck'])
    assert expected == with_scheduler(test)


def test_a_pod_without_a_node_says_why() -> None:
    """The event and the condition carry the same message; the condition is written once while nothing changes."""

    async def test(server: FakeServer) -> tuple[dict[str, Any], list[str], int]:
        server.put(a_node("a"))
        pod = a_pod("p").node_selector(disk="ssd")
        pod["metadata"]["generation"] = 1
        server.put(pod)
        await server.clock.sleep(400)  # past the five minutes after which it is tried again
        return server.condition("p"), server.notes("FailedScheduling"), len(server.status_patches)

    condition, notes, patches = with_scheduler(test)

    message = (
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate,"
        " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    del condition["lastTransitionTime"]
    expected = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    assert {**expected, "observedGeneration": 1} == condition
    assert {message} == set(notes)
    assert 1 == patches


def test_a_label_makes_it_schedulable_at_once() -> None:
    """An event that helps brings the pod back within its first backoff."""

    async def test(server: FakeServer) -> str:
        server.put(a_node("a"))
        server.put(a_pod("p").node_selector(disk="ssd"))
        await server.clock.sleep(5)
        server.put(a_node("a").labels(disk="ssd"))
        await server.clock.sleep(1)
        return server.node_of("p")

    assert "a" == with_scheduler(test)


def test_room_that_is_made_is_used() -> None:
    """A deleted pod's room goes to the one that waited."""

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_node("a"))
        server.put(a_pod("p").requests(cpu="3").on("a"))
        server.put(a_pod("q").requests(cpu="3"))
        await server.clock.sleep(5)
        before = server.node_of("q")
        server.remove("p")
        await server.clock.sleep(2)
        return before, server.node_of("q")

    assert ("", "a") == with_scheduler(test)


def test_pods_of_other_schedulers_are_left_alone() -> None:
    """No binding, no condition, no event."""

    async def test(server: FakeServer) -> tuple[str, dict[str, Any], list[Any]]:
        server.put(a_node("a"))
        server.put(a_pod("p").spec(schedulerName="elsewhere"))
        await server.clock.sleep(60)
        return server.node_of("p"), server.condition("p"), server.events

    assert ("", {}, []) == with_scheduler(test)


def test_two_profiles() -> None:
    """One process serves several scheduler names, each with its own plugins."""
    second = Profile("second", args={"NodeAffinity": {"addedAffinity": _only("b")}})

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_node("a").labels(name="a").capacity(cpu="64"))
        server.put(a_node("b").labels(name="b"))
        server.put(a_pod("p").requests(cpu="1"))
        server.put(a_pod("q").requests(cpu="1").spec(schedulerName="second"))
        await server.clock.sleep(1)
        return server.node_of("q"), next(e for e in server.events if "/q" in e["note"])["reportingController"]

    assert ("b", "second") == with_scheduler(test, profiles=(Profile(), second))


def _only(name: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "name", "operator": "In", "values": [name]}]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def test_preemption() -> None:
    """The victim is told why and goes, the preemptor gets its node; both events name the other side."""

    async def test(server: FakeServer) -> tuple[str, list[str], list[str], list[Any]]:
        server.put(a_node("a"))
        server.put(a_pod("low").requests(cpu="3"))
        await server.clock.sleep(1)
        server.put(a_pod("vip").requests(cpu="3").spec(priority=100))
        await server.clock.sleep(5)
        conditions = [patch["status"].get("conditions", [{}])[0].get("type") for patch in server.status_patches]
        return server.node_of("vip"), server.notes("Preempted"), server.notes("FailedScheduling"), conditions

    node, preempted, failed, conditions = with_scheduler(test)

    assert "a" == node
    assert ["Preempted by pod uid-4 on node a"] == preempted
    assert ["0/1 nodes are available: 1 Insufficient cpu."] == failed
    assert {"DisruptionTarget", "PodScheduled"} == set(conditions)


def test_the_promise_is_written_down() -> None:
    """status.nominatedNodeName tells which node the pod waits for."""

    async def test(server: FakeServer) -> Any:
        server.put(a_node("a"))
        server.put(a_pod("low").requests(cpu="3").on("a"))
        server.put(a_pod("vip").requests(cpu="3").spec(priority=100))
        await server.clock.sleep(0.05)
        return server.pod("vip")["status"].get("nominatedNodeName")

    assert "a" == with_scheduler(test, bind_seconds=60)


def test_a_pod_deleted_while_it_is_bound() -> None:
    """Its room is free again, and nothing is left behind."""

    async def test(server: FakeServer) -> tuple[int, int]:
        server.put(a_node("a"))
        server.put(a_pod("p").requests(cpu="3"))
        await server.clock.sleep(1)
        assumed = server.scheduler.cache.pod_count
        server.remove("p")
        await server.clock.sleep(30)
        return assumed, server.scheduler.cache.pod_count

    assert (1, 0) == with_scheduler(test, bind_seconds=10)


def test_ended_pods_hold_nothing() -> None:
    """The informer leaves out ended pods, which look deleted: their room is free."""

    async def test(server: FakeServer) -> str:
        server.put(a_node("a"))
        server.put(a_pod("done").requests(cpu="3").on("a"))
        server.put(a_pod("p").requests(cpu="3"))
        await server.clock.sleep(3)
        server.remove("done")
        await server.clock.sleep(3)
        return server.node_of("p")

    assert "a" == with_scheduler(test)


class Broken(FilterPlugin):
    """Fails for one pod."""

    NAME = "Broken"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if pod.name == "bad":
            raise RuntimeError("oops")
        return None


def test_a_broken_plugin_costs_one_pod_its_attempt() -> None:
    """Other pods are scheduled all the same, and the failure is told."""
    profile = Profile(plugins=(*DEFAULT_PLUGINS, Entry(Broken)))

    async def test(server: FakeServer) -> tuple[str, str, str]:
        server.put(a_node("a"))
        server.put(a_pod("bad"))
        server.put(a_pod("good"))
        await server.clock.sleep(1)
        return server.node_of("bad"), server.condition("bad")["message"], server.node_of("good")

    assert ("", "RuntimeError: oops", "a") == with_scheduler(test, profiles=(profile,))


class Hold(PermitPlugin):
    """Holds every pod back for at most 20 seconds."""

    NAME = "Hold"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        return Status(Code.WAIT), 20.0


def test_permit_holds_back_and_lets_go() -> None:
    """A pod that is held back is not bound, but its room is taken; then it is allowed, or refused by time."""
    profile = Profile(plugins=(*DEFAULT_PLUGINS, Entry(Hold)))

    async def test(server: FakeServer) -> tuple[list[str], list[str], str]:
        server.put(a_node("a"))
        for name in ("p", "q"):
            server.put(a_pod(name).requests(cpu="1"))
        await server.clock.sleep(10)
        before = [server.node_of("p"), server.node_of("q")]
        server.scheduler.waiting.allow(server.pod("p")["metadata"]["uid"], "Hold")
        await server.clock.sleep(11)
        return before, [server.node_of("p"), server.node_of("q")], server.condition("q")["message"]

    before, after, message = with_scheduler(test, profiles=(profile,))

    assert (["", ""], ["a", ""]) == (before, after)
    assert message == "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin Hold."


def test_pods_that_are_held_back_do_not_stop_others() -> None:
    """However many pods a Permit plugin holds back, others are bound."""
    profile = Profile("held", plugins=(*DEFAULT_PLUGINS, Entry(Hold)))

    async def test(server: FakeServer) -> str:
        server.put(a_node("a").capacity(pods="500"))
        for number in range(MAX_WRITES + 10):
            server.put(a_pod(f"held{number}").spec(schedulerName="held"))
        await server.clock.sleep(5)
        server.put(a_pod("p"))
        await server.clock.sleep(1)
        return server.node_of("p")

    assert "a" == with_scheduler(test, profiles=(Profile(), profile))


def test_bindings_are_bounded() -> None:
    """However many pods wait, only so many bindings are under way at once."""

    async def test(server: FakeServer) -> tuple[int, bool]:
        for number in range(4):
            server.put(a_node(f"n{number}").capacity(pods="110"))
        for number in range(300):
            server.put(a_pod(f"p{number}"))
        await server.clock.sleep(60)
        return server.most_bindings, all(server.node_of(f"p{number}") for number in range(300))

    assert (MAX_WRITES, True) == with_scheduler(test, bind_seconds=2)


def test_what_is_written_about_a_pod_is_written_in_order() -> None:
    """That it found no node must not arrive after it was bound: the pod would run and not be scheduled."""

    async def test(server: FakeServer) -> list[str]:
        written: list[str] = []
        patch, create = server.patch, server.create

        async def slow_patch(*what: Any, **how: Any) -> Any:
            await server.clock.sleep(5)
            written.append("refused")
            return await patch(*what, **how)

        async def noted_create(*what: Any, subresource: str = "", **how: Any) -> Any:
            created = await create(*what, subresource=subresource, **how)
            if subresource:
                written.append("bound")
            return created

        server.patch, server.create = slow_patch, noted_create  # type: ignore[method-assign]
        server.put(a_node("a"))
        server.put(a_pod("p").node_selector(disk="ssd"))
        await server.clock.sleep(2)
        server.put(a_node("a").labels(disk="ssd"))
        await server.clock.sleep(20)
        return written

    assert ["refused", "bound"] == with_scheduler(test)
