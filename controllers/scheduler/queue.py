"""The scheduling queue: which pod next, and when a pod that found no node is worth another attempt.

    active         ready to be tried, best first (PrioritySort)
    backoff        worth another try, but not before its backoff (1 s doubling to 10 s) is over;
                   taken early when nothing is active, unless the last attempt was an error
    unschedulable  refused or gated: waits for an event that one of the refusing plugins asked for, at most 5 minutes
    in flight      popped and not yet done; events that come meanwhile are kept and asked about when it fails

Each pod is in exactly one of them, so the cluster's pods bound the sizes. Follows pkg/scheduler/backend/queue (v1.36).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from controllers.scheduler.backoff import Backoff
from controllers.scheduler.events import (
    ATTEMPT_FAILED,
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    POPPED_FROM_BACKOFF,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ClusterEvent,
    pod_update_events,
)
from controllers.scheduler.hints import QueueingHints
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pod_heap import PodHeap, SortKey
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.queued_pod import QueuedPod
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ReadOnlyObject

UNSCHEDULABLE_SECONDS = 300.0
MAX_HELD_EVENTS = 10_000
PreCheck = Callable[[PodInfo], bool]
Incoming = Callable[[str, str], None]  # which queue a pod came into, and by which event


def _count_none(queue: str, event: str) -> None: ...


class Strategy(IntEnum):
    """What an event is worth to a pod."""

    SKIP = 0
    AFTER_BACKOFF = 1
    AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """An event that came while pods were in flight."""

    cycle: int  # pods popped later than this need not hear of it
    event: ClusterEvent
    old: ReadOnlyObject | None
    new: ReadOnlyObject | None
    only_for: str = ""  # uid, where it concerns one pod alone


class SchedulingQueue:
    """Every method but `pop` returns without awaiting."""

    def __init__(
        self,
        clock: Clock,
        hints: QueueingHints,
        sort_key: SortKey,
        nominator: Nominator,
        backoff: Backoff | None = None,
        incoming: Incoming = _count_none,
    ) -> None:
        self.nominator = nominator
        self._incoming = incoming
        self._clock = clock
        self._hints = hints
        self._backoff = backoff or Backoff(clock)
        self._active = PodHeap(sort_key)
        self._backing_off = PodHeap(lambda queued: (self._backoff.ends(queued), sort_key(queued)))
        self._failing = PodHeap(self._backoff.ends)  # backing off after an error: never taken early
        self._unschedulable: dict[str, QueuedPod] = {}
        self._in_flight: dict[str, QueuedPod] = {}
        self._held_events: list[HeldEvent] = []
        self._cycle = 0
        self._has_work = asyncio.Event()

    # What is where -----------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """By queue, as the metric scheduler_pending_pods names them."""
        gated = sum(queued.is_gated for queued in self._unschedulable.values())
        return {
            "active": len(self._active),
            "backoff": len(self._backing_off) + len(self._failing),
            "unschedulable": len(self._unschedulable) - gated,
            "gated": gated,
        }

    def refused_by(self) -> Counter[tuple[str, str]]:
        """How many waiting pods each plugin has refused, by plugin and profile."""
        waiting = (*self._active, *self._backing_off, *self._failing, *self._unschedulable.values())
        return Counter((plugin, queued.pod.scheduler_name) for queued in waiting for plugin in queued.rejectors)

    def where(self, uid: str) -> str:
        """The queue a pod is in, or ""."""
        if uid in self._active:
            return "active"
        if uid in self._backing_off:
            return "backoff"
        if uid in self._failing:
            return "error-backoff"
        if uid in self._unschedulable:
            return "unschedulable"
        return "in-flight" if uid in self._in_flight else ""

    # Coming and going --------------------------------------------------------------------------------------------

    def add(self, pod: PodInfo) -> None:
        """A pod without a node appeared."""
        if self.where(pod.uid):
            return
        self.nominator.add(pod)
        self._to_active(QueuedPod(pod, self._clock.monotonic()), UNSCHEDULED_POD_ADD.name)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node changed."""
        events = pod_update_events(old.pod, new.pod)
        self.nominator.update(old, new)
        if new.uid in self._in_flight:
            for event in events:
                self._hold(HeldEvent(self._cycle, event, old.pod, new.pod, new.uid))
            return
        for heap in (self._active, self._backing_off, self._failing):
            if (queued := heap.get(new.uid)) is not None:
                queued.pod = new
                heap.put(queued)
                return
        queued = self._unschedulable.get(new.uid)
        if queued is None:
            self.add(new)
            return
        queued.pod = new
        for event in events:
            strategy = self._worth(queued, event, old.pod, new.pod)
            if strategy and self._requeue(queued, strategy, event.name):
                return

    def delete(self, uid: str) -> None:
        """It is gone, or has a node."""
        self.nominator.remove(uid)
        for heap in (self._active, self._backing_off, self._failing):
            heap.remove(uid)
        self._unschedulable.pop(uid, None)

    async def pop(self) -> QueuedPod:
        """The next pod to try, from now on in flight until `done` or `add_unschedulable`."""
        while True:
            queued = self._active.pop()
            if queued is None and (queued := self._backing_off.pop()) is not None:
                self._incoming("active", POPPED_FROM_BACKOFF)
            if queued is not None:
                break
            self._has_work.clear()
            await self._has_work.wait()
        self._cycle += 1
        queued.cycle = self._cycle
        queued.attempts += 1
        if queued.initial_attempt is None:
            queued.initial_attempt = self._clock.monotonic()
        self._in_flight[queued.uid] = queued
        return queued

    def done(self, uid: str) -> None:
        """The attempt is over and the pod will not come back by it."""
        self._in_flight.pop(uid, None)
        if not self._in_flight:
            self._held_events.clear()
            return
        oldest = next(iter(self._in_flight.values())).cycle
        if self._held_events and self._held_events[0].cycle < oldest:
            self._held_events = [held for held in self._held_events if held.cycle >= oldest]

    def add_unschedulable(self, queued: QueuedPod) -> None:
        """Its attempt failed. Where an event came meanwhile that may help, it is tried again, else it waits."""
        if self.where(queued.uid) not in ("", "in-flight"):
            self.done(queued.uid)
            return
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = self._clock.monotonic()
        queued.backoff_until = None
        queued.was_flushed = False
        strategy = self._worth_of_held_events(queued)
        self.done(queued.uid)
        if strategy is Strategy.SKIP:
            self._unschedulable[queued.uid] = queued
            self._incoming("unschedulable", ATTEMPT_FAILED)
        else:
            self._requeue(queued, strategy, ATTEMPT_FAILED)

    # What makes pods schedulable ---------------------------------------------------------------------------------

    def activate(self, uids: Iterable[str]) -> None:
        """Try these at once, wherever they wait."""
        for uid in uids:
            queued = self._unschedulable.get(uid) or self._backing_off.get(uid) or self._failing.get(uid)
            if queued is not None:
                self._to_active(queued, FORCE_ACTIVATE.name)
            elif uid in self._in_flight:
                self._hold(HeldEvent(self._cycle, FORCE_ACTIVATE, None, None, uid))

    def move_all(
        self,
        event: ClusterEvent,
        old: ReadOnlyObject | None,
        new: ReadOnlyObject | None,
        pre_check: PreCheck | None = None,
    ) -> None:
        """Something changed in the cluster: requeue the pods to which it may matter."""
        if not self._hints.is_of_interest(event):
            return
        for queued in list(self._unschedulable.values()):
            if pre_check is None or pre_check(queued.pod):
                self._move(queued, event, old, new)
        if self._in_flight:
            self._hold(HeldEvent(self._cycle, event, old, new))

    def flush_backoff(self) -> None:
        """Called once a second: what has waited out its backoff becomes active."""
        for heap in (self._backing_off, self._failing):
            while (queued := heap.peek()) is not None and not self._backoff.is_backing_off(queued):
                heap.pop()
                self._to_active(queued, BACKOFF_COMPLETE, is_checked=True)

    def flush_unschedulable(self) -> None:
        """Called every 30 seconds: nobody waits longer than five minutes for an event that may have been missed, nor
        behind a gate that has opened since."""
        now = self._clock.monotonic()
        for queued in list(self._unschedulable.values()):
            if now - queued.timestamp > UNSCHEDULABLE_SECONDS:
                queued.was_flushed = True
                self._move(queued, UNSCHEDULABLE_TIMEOUT, None, None)

    # How -----------------------------------------------------------------------------------------------------------

    def _move(
        self, queued: QueuedPod, event: ClusterEvent, old: ReadOnlyObject | None, new: ReadOnlyObject | None
    ) -> None:
        name, gate = queued.pod.scheduler_name, queued.gating_plugin
        if gate and not event.is_wildcard and not self._hints.plugin_wants(name, gate, event):
            return
        strategy = self._worth(queued, event, old, new)
        if strategy is not Strategy.SKIP:
            self._requeue(queued, strategy, event.name)

    def _worth(
        self, queued: QueuedPod, event: ClusterEvent, old: ReadOnlyObject | None, new: ReadOnlyObject | None
    ) -> Strategy:
        rejectors = queued.rejectors
        if not rejectors or event.is_wildcard:
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for plugin in self._hints.helped(queued.pod, rejectors, event, old, new):
            if plugin in queued.pending_plugins:
                return Strategy.AT_ONCE
            strategy = Strategy.AFTER_BACKOFF
        return strategy

    def _hold(self, held: HeldEvent) -> None:
        """Full: all are replaced by one that brings every pod in flight back."""
        if len(self._held_events) >= MAX_HELD_EVENTS:
            self._held_events = [HeldEvent(self._cycle, UNSCHEDULABLE_TIMEOUT, None, None)]
        self._held_events.append(held)

    def _worth_of_held_events(self, queued: QueuedPod) -> Strategy:
        if not queued.rejectors:
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for held in self._held_events:
            if held.cycle >= queued.cycle and held.only_for in ("", queued.uid):
                strategy = max(strategy, self._worth(queued, held.event, held.old, held.new))
        return strategy

    def _requeue(self, queued: QueuedPod, strategy: Strategy, event: str) -> bool:
        """Whether it left the unschedulable pods: a pre-enqueue plugin may hold it there."""
        if strategy is Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued):
            return self._to_backoff(queued, event)
        return self._to_active(queued, event)

    def _to_active(self, queued: QueuedPod, event: str, is_checked: bool = False) -> bool:
        if not is_checked and self._is_held_back(queued, event):
            return False
        self._take(queued.uid)
        self._active.put(queued)
        self._incoming("active", event)
        self._has_work.set()
        return True

    def _to_backoff(self, queued: QueuedPod, event: str) -> bool:
        if self._is_held_back(queued, event):
            return False
        self._take(queued.uid)
        self._incoming("backoff", event)
        (self._backing_off if queued.rejectors else self._failing).put(queued)
        self._has_work.set()
        return True

    def _is_held_back(self, queued: QueuedPod, event: str) -> bool:
        """Ask the pre-enqueue plugins; a gated pod waits among the unschedulable ones."""
        gate = self._hints.gate(queued.pod, queued.gating_plugin)
        queued.gating_plugin = gate
        if not gate:
            return False
        queued.unschedulable_plugins.add(gate)
        if queued.uid not in self._unschedulable:
            self._incoming("unschedulable", event)
        self._take(queued.uid)
        self._unschedulable[queued.uid] = queued
        return True

    def _take(self, uid: str) -> None:
        """Out of wherever it waits."""
        for heap in (self._active, self._backing_off, self._failing):
            heap.remove(uid)
        self._unschedulable.pop(uid, None)
