"""The queue on virtual time: order, backoff, events, gates, and events that come while a pod is being tried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from controllers.scheduler.events import (
    ADD,
    ASSIGNED_POD_DELETE,
    NODE,
    NODE_ADD,
    POD,
    UPDATE_NODE_LABEL,
    UPDATE_POD_LABEL,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.hints import ProfileHints, QueueingHints
from controllers.scheduler.interface import Handle, PreEnqueuePlugin
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.plugins.scheduling_gates import SchedulingGates
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.queue import MAX_HELD_EVENTS, SchedulingQueue
from controllers.scheduler.queued_pod import QueuedPod
from controllers.scheduler.status import Status, unresolvable
from kubeloop.testing.builders import PodBuilder, a_pod
from kubeloop.testing.virtual_time import LoopClock, run
from tests.unit.scheduler.scene import info

LABELLED = ClusterEvent(NODE, UPDATE_NODE_LABEL)


def picky(pod: PodInfo, old: Any, new: Any) -> Hint:
    """Only the node called good helps."""
    return Hint.QUEUE if new and new["metadata"]["name"] == "good" else Hint.SKIP


def a_queue() -> SchedulingQueue:
    """Plugin Fit hears of new nodes and deleted pods, plugin Picky looks at the node."""
    gate = SchedulingGates(Handle(lister=None, api=None, rng=None))  # type: ignore[arg-type]
    events = {
        "Fit": (RegisteredEvent(NODE_ADD), RegisteredEvent(ClusterEvent(POD, 1 << 1))),
        "Picky": (RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL), picky),),
        gate.NAME: gate.events(),
    }
    hints = QueueingHints({"default-scheduler": ProfileHints(events, [gate])})
    return SchedulingQueue(LoopClock(), hints, lambda q: (-q.pod.priority, q.timestamp), Nominator())


def on_time(test: Callable[[SchedulingQueue, LoopClock], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        return await test(a_queue(), LoopClock())

    return run(main())


def refused(queued: QueuedPod, *plugins: str) -> QueuedPod:
    queued.unschedulable_plugins = set(plugins)
    return queued


def a_prio(name: str, priority: int) -> PodInfo:
    return info(a_pod(name).spec(priority=priority))


def test_priority_first_then_age() -> None:
    """Higher priority goes first; among equals the one that came first."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
            queue.add(a_prio(name, priority))
            await clock.sleep(0.1)
        return [(await queue.pop()).pod.name for _ in range(4)]

    assert ["b", "d", "a", "c"] == on_time(main)


def test_pop_waits() -> None:
    """Without a pod, pop waits for one."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        popping = asyncio.create_task(queue.pop())
        await clock.sleep(7)
        queue.add(info(a_pod("late")))
        return (await popping).pod.name

    assert "late" == on_time(main)


def test_a_refused_pod_waits_for_its_plugins_events() -> None:
    """Events that none of the refusing plugins asked for do not move it."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        queue.add(info(a_pod("p")))
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        places = [queue.where("uid-of-p")]
        queue.move_all(LABELLED, None, None)
        places.append(queue.where("uid-of-p"))
        queue.move_all(NODE_ADD, None, None)
        return [*places, queue.where("uid-of-p")]

    assert ["unschedulable", "unschedulable", "backoff"] == on_time(main)


def test_hints_are_asked() -> None:
    """A plugin that looks at the object moves the pod only where the object helps."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        queue.add(info(a_pod("p")))
        queue.add_unschedulable(refused(await queue.pop(), "Picky"))
        places = []
        for name in ("bad", "good"):
            queue.move_all(LABELLED, {}, {"metadata": {"name": name}})
            places.append(queue.where("uid-of-p"))
        return places

    assert ["unschedulable", "backoff"] == on_time(main)


def test_backoff_doubles_up_to_ten_seconds() -> None:
    """After each failed attempt the pod waits longer: 1, 2, 4, 8, 10, 10 seconds."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[float]:
        await clock.sleep(100)
        queue.add(info(a_pod("p")))
        queue.add(info(a_pod("busy").spec(priority=-1)))  # keeps the queue from taking p early
        waits = []
        for _ in range(6):
            queued = await queue.pop()
            queue.add_unschedulable(refused(queued, "Fit"))
            queue.move_all(NODE_ADD, None, None)
            failed = clock.monotonic()
            while queue.where("uid-of-p") == "backoff":
                await clock.sleep(1)
                queue.flush_backoff()
            waits.append(clock.monotonic() - failed - 1)  # an end in this second is over in the next
        return waits

    assert [1, 2, 4, 8, 10, 10] == on_time(main)


def test_backoff_is_cut_short_when_there_is_nothing_else() -> None:
    """An idle scheduler takes a pod whose backoff is not over, but not one whose attempt ended in an error."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> tuple[str, str]:
        await clock.sleep(10)
        queue.add(info(a_pod("refused")))
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        queue.move_all(NODE_ADD, None, None)
        queue.add(info(a_pod("failed").spec(priority=9)))
        queue.add_unschedulable(await queue.pop())
        return (await queue.pop()).pod.name, queue.where("uid-of-failed")

    assert ("refused", "error-backoff") == on_time(main)


def test_nobody_waits_for_ever() -> None:
    """After five minutes without a helpful event a pod is tried again."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        queue.add(info(a_pod("p")))
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        places = []
        for seconds in (300, 1):
            await clock.sleep(seconds)
            queue.flush_unschedulable()
            places.append(queue.where("uid-of-p"))
        return places

    assert ["unschedulable", "active"] == on_time(main)


def test_events_during_an_attempt_count() -> None:
    """A node that comes while the pod is being refused brings it back; one that came before does not."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        queue.add(info(a_pod("p")))
        queue.add(info(a_pod("q")))
        queue.move_all(NODE_ADD, None, None)
        p, q = await queue.pop(), await queue.pop()
        queue.add_unschedulable(refused(p, "Fit"))
        queue.move_all(NODE_ADD, None, None)
        queue.add_unschedulable(refused(q, "Fit"))
        return [queue.where("uid-of-p"), queue.where("uid-of-q")]

    assert ["backoff", "backoff"] == on_time(main)


def test_events_before_an_attempt_do_not_count() -> None:
    """The attempt has seen them already."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        queue.add(info(a_pod("other")))
        queue.add(info(a_pod("p")))
        await queue.pop()
        queue.move_all(NODE_ADD, None, None)  # held for the other pod, which is in flight
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        return queue.where("uid-of-p")

    assert "unschedulable" == on_time(main)


def test_too_many_events_during_an_attempt() -> None:
    """When the list of held events is full, every pod in flight comes back instead of none."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        queue.add(info(a_pod("p")))
        queued = await queue.pop()
        for _ in range(MAX_HELD_EVENTS + 1):
            queue.move_all(LABELLED, {}, {"metadata": {"name": "bad"}})
        queue.add_unschedulable(refused(queued, "Picky"))
        return queue.where("uid-of-p")

    assert "backoff" == on_time(main)


class Door(PreEnqueuePlugin):
    """Opens without anybody being told."""

    NAME = "Door"
    is_open = False

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return None if self.is_open else unresolvable("closed")


def test_nobody_waits_forever_behind_a_gate_that_has_opened() -> None:
    """The event that opened it may have been missed: after five minutes the gate is asked again."""

    async def test() -> list[str]:
        clock, door = LoopClock(), Door(Handle(lister=None, api=None, rng=None))  # type: ignore[arg-type]
        hints = QueueingHints({"default-scheduler": ProfileHints({"Door": ()}, [door])})
        queue = SchedulingQueue(clock, hints, lambda q: (-q.pod.priority, q.timestamp), Nominator())
        pod = info(a_pod("p"))
        queue.add(pod)
        found = [queue.where(pod.uid)]
        for is_open in (False, True):
            door.is_open = is_open
            await clock.sleep(301)
            queue.flush_unschedulable()
            found.append(queue.where(pod.uid))
        return found

    assert ["unschedulable", "unschedulable", "active"] == run(test())


def a_gated(*gates: str) -> PodBuilder:
    return a_pod("p").spec(schedulingGates=[{"name": gate} for gate in gates])


def test_gates() -> None:
    """A gated pod waits, whatever happens in the cluster, until its last gate is gone."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        two, one, none = info(a_gated("x", "y")), info(a_gated("y")), info(a_gated())
        queue.add(two)
        places = [queue.where(two.uid)]
        queue.move_all(ASSIGNED_POD_DELETE, {}, None)
        places.append(queue.where(two.uid))
        queue.update(two, one)
        places.append(queue.where(two.uid))
        queue.update(one, none)
        return [*places, queue.where(two.uid)]

    assert ["unschedulable", "unschedulable", "unschedulable", "active"] == on_time(main)


def test_an_update_of_a_waiting_pod() -> None:
    """The newest state is what is tried, wherever the pod waits."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        before, after = info(a_pod("p")), info(a_pod("p").labels(new="yes"))
        queue.add(before)
        queue.update(before, after)
        return (await queue.pop()).pod.labels["new"]

    assert "yes" == on_time(main)


def test_status_updates_do_not_wake_a_pod() -> None:
    """The scheduler's own condition on the pod is no reason to try it again."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        before, after = info(a_pod("p")), info({**a_pod("p"), "status": {"conditions": [{"type": "PodScheduled"}]}})
        queue.add(before)
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        queue.update(before, after)
        return queue.where("uid-of-p")

    assert "unschedulable" == on_time(main)


def test_deleted_pods_leave_every_queue() -> None:
    """A deleted pod is popped no more."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> list[str]:
        for name in ("a", "b"):
            queue.add(info(a_pod(name)))
        queue.delete("uid-of-a")
        return [(await queue.pop()).pod.name, queue.where("uid-of-a")]

    assert ["b", ""] == on_time(main)


def test_activation() -> None:
    """A pod that is asked for by name is tried at once."""

    async def main(queue: SchedulingQueue, clock: LoopClock) -> str:
        queue.add(info(a_pod("p")))
        queue.add_unschedulable(refused(await queue.pop(), "Fit"))
        queue.activate(["uid-of-p"])
        return queue.where("uid-of-p")

    assert "active" == on_time(main)


def test_a_promise_outlives_an_update_that_does_not_know_of_it() -> None:
    """A nomination that is not yet written into the status is kept."""
    nominator = Nominator()
    before, after = info(a_pod("p")), info(a_pod("p").labels(new="yes"))
    nominator.add(before, "a")
    nominator.update(before, after)

    assert [after] == nominator.on_node("a")


def test_events_are_matched_by_kind_and_action() -> None:
    """A plugin that registered pods hears of placed and waiting ones, and of nothing but its actions."""
    registered = ClusterEvent(POD, ADD | UPDATE_POD_LABEL)

    assert registered.covers(ClusterEvent("AssignedPod", UPDATE_POD_LABEL))
    assert not registered.covers(ASSIGNED_POD_DELETE)
    assert not registered.covers(NODE_ADD)
