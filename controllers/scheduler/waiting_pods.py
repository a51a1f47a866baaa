"""Pods that Permit plugins hold back between the decision and the binding."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Status, failed, unschedulable
from kubeloop.apimachinery.go_duration import duration_text


@dataclass(slots=True)
class _Held:
    """`waits`: by plugin that has not allowed the pod yet, for how many seconds it holds the pod back at most."""

    pod: PodInfo
    waits: dict[str, float]
    since: float  # loop time
    answer: asyncio.Future[Status | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    limit: asyncio.Timeout | None = None  # while somebody waits for the answer

    @property
    def next_to_give_up(self) -> str:
        return min(self.waits, key=lambda plugin: self.waits[plugin])

    @property
    def deadline(self) -> float:
        return self.since + self.waits[self.next_to_give_up]


class WaitingPods:
    """One entry a pod that waits, so the pods of the cluster bound it."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def pods(self) -> list[PodInfo]:
        """Those that wait, in the order in which they began to."""
        return [held.pod for held in self._held.values()]

    def hold(self, pod: PodInfo, waits: Mapping[str, float]) -> None:
        """The time runs from here."""
        self._held[pod.uid] = _Held(pod, dict(waits), asyncio.get_running_loop().time())

    async def wait(self, uid: str) -> Status | None:
        """None when every plugin has allowed it; a refusal by one of them, or by the time of one that has not; or an
        error, where it was preempted."""
        held = self._held[uid]
        try:
            if held.answer.done():
                return held.answer.result()
            async with asyncio.timeout_at(held.deadline) as held.limit:
                return await held.answer
        except TimeoutError:
            if held.answer.done() and not held.answer.cancelled():
                return held.answer.result()
            plugin = held.next_to_give_up
            waited = duration_text(held.waits[plugin])
            return unschedulable(f"rejected due to timeout after waiting {waited} at plugin {plugin}").of(plugin)
        finally:
            self.forget(uid)

    def forget(self, uid: str) -> None:
        """Nobody will wait for it any more."""
        self._held.pop(uid, None)

    def allow(self, uid: str, plugin: str) -> None:
        held = self._held.get(uid)
        if held is None or held.answer.done():
            return
        held.waits.pop(plugin, None)
        if not held.waits:
            held.answer.set_result(None)
        elif held.limit is not None:
            held.limit.reschedule(held.deadline)

    def reject(self, uid: str, reason: str, plugin: str) -> bool:
        """It is unschedulable. Whether it was waiting."""
        return self._answer(uid, unschedulable(reason).of(plugin))

    def preempt(self, uid: str, reason: str, plugin: str) -> bool:
        """It is tried again after a backoff: nothing is wrong with it. Whether it was waiting."""
        return self._answer(uid, failed(f"waiting on permit for pod: {reason}").of(plugin))

    def _answer(self, uid: str, status: Status) -> bool:
        held = self._held.get(uid)
        if held is None or held.answer.done():
            return False
        held.answer.set_result(status)
        return True
