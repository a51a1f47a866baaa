"""Removing the victims of a preemption, in the background; the pod they make way for is kept back meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.interface import Nomination
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pending_preemptions import PendingPreemptions
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.pod_status import patch_status, status_patch
from controllers.scheduler.pre_binding import PreBinding
from controllers.scheduler.preemption import BY_SCHEDULER, DISRUPTION_TARGET
from controllers.scheduler.waiting_pods import WaitingPods
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api

log = structlog.get_logger(__name__)


def _count_none(result: str, seconds: float) -> None: ...


class PreemptionExecutor:
    """`preempting` has the pods whose victims are not all asked to go yet: DefaultPreemption gates them.

    `preempted` hears how each preemption ended, and after how many seconds.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        announcer: Announcer,
        nominator: Nominator,
        waiting: WaitingPods,
        pre_binding: PreBinding,
        preempting: PendingPreemptions,
        activate: Callable[[list[str]], None],
        preempted: Callable[[str, float], None] = _count_none,
    ) -> None:
        self._api, self._clock, self._announcer = api, clock, announcer
        self._nominator, self._waiting, self._pre_binding = nominator, waiting, pre_binding
        self._preempting, self._activate, self._preempted = preempting, activate, preempted

    def start(self, pod: PodInfo, nomination: Nomination, group: asyncio.TaskGroup) -> None:
        """Returns at once."""
        victims = [victim for victim in nomination.victims if not victim.is_being_deleted]
        if not victims:
            return
        self._preempting.begin(pod.uid)
        group.create_task(self._preempt(pod, nomination.node_name, victims), name=f"preemption for {pod.key}")

    async def _preempt(self, pod: PodInfo, node_name: str, victims: list[PodInfo]) -> None:
        """All but the last go first: the pod is not tried again before the last one was asked to go."""
        started, result = self._clock.monotonic(), "success"
        await self._take_back_promises(pod, node_name)
        try:
            async with asyncio.TaskGroup() as group:
                for victim in victims[:-1]:
                    group.create_task(self._remove(pod, node_name, victim))
            self._preempting.wait_for_last(pod.uid, victims[-1])
            is_removed = await self._remove(pod, node_name, victims[-1])
            self._preempting.end(pod.uid)
            if not is_removed:  # nobody will hear of its end any more, who may have been kept back until here
                self._activate([pod.uid])
        except* ApiError as group_of_errors:
            errors = [str(error) for error in group_of_errors.exceptions]
            result = "error"
            log.error("preemption failed", pod=str(pod.key), node=node_name, errors=errors)
            self._preempting.end(pod.uid)
            self._activate([pod.uid])
        self._preempted(result, self._clock.monotonic() - started)

    async def _take_back_promises(self, pod: PodInfo, node_name: str) -> None:
        """Less important pods were promised this node too: let them look elsewhere. The victims go even if they cannot
        be told."""
        for other in self._nominator.on_node(node_name):
            if other.priority < pod.priority and (patch := status_patch(other.pod, None, "", "")):
                try:
                    await patch_status(self._api, other.pod, patch)
                except ApiError as error:
                    log.error("cannot take back a promise", pod=str(other.key), node=node_name, error=error.message)

    async def _remove(self, pod: PodInfo, node_name: str, victim: PodInfo) -> bool:
        """Whether it was still there."""
        note = f"Preempted by pod {pod.uid} on node {node_name}"
        if self._call_off(victim):
            note += " (in kube-scheduler memory)."
        elif not await self._delete(pod, victim):
            return False
        log.info("preempted", pod=str(pod.key), victim=str(victim.key), node=node_name)
        self._announcer.tell(pod.scheduler_name, victim.pod, "Normal", "Preempted", "Preempting", note, pod.pod)
        return True

    def _call_off(self, victim: PodInfo) -> bool:
        """One that is not bound yet goes back into the queue, instead of being deleted."""
        if self._waiting.preempt(victim.uid, "preempted", plugin="DefaultPreemption"):
            return True
        return self._pre_binding.call_off(victim.uid, "preempted by DefaultPreemption")

    async def _delete(self, pod: PodInfo, victim: PodInfo) -> bool:
        """Say why, then delete with the grace the victim asked for. Whether it was there."""
        condition = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": BY_SCHEDULER,
            "message": f"{pod.scheduler_name}: preempting to accommodate a higher priority pod",
        }
        patch = status_patch(victim.pod, condition, None, format_time(self._clock.now()))
        if patch is not None and not await patch_status(self._api, victim.pod, patch):
            return False
        try:
            await self._api.delete(PODS, victim.name, victim.namespace)
        except NotFound:
            return False
        return True
