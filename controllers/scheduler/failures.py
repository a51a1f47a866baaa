"""A pod that got no node: back into the queue with it, and tell its owner why."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import structlog

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.diagnosis import Decision, Diagnosis
from controllers.scheduler.interface import Lister, Nomination
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.pod_status import patch_status, status_patch
from controllers.scheduler.queue import SchedulingQueue
from controllers.scheduler.queued_pod import QueuedPod
from controllers.scheduler.status import Code, Status
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api

log = structlog.get_logger(__name__)

TAKE_BACK_PROMISE = Nomination("")


class Failures:
    """`pods` knows the current state of pods: one that is gone or placed meanwhile needs no more attempts."""

    def __init__(self, api: Api, clock: Clock, pods: Lister, queue: SchedulingQueue, announcer: Announcer) -> None:
        self._api, self._clock, self._pods = api, clock, pods
        self._queue, self._announcer = queue, announcer

    def give_back(self, queued: QueuedPod, decision: Decision) -> Coroutine[Any, Any, None] | None:
        """Requeue at once; what is returned writes the condition (None: there is nothing to write).

        Of a pod that is gone or has a node meanwhile the event is all that is left to tell.
        """
        pod = queued.pod
        log.info("no node for pod", pod=str(pod.key), attempts=queued.attempts, why=decision.message)
        current = self._pods.get(pod.key)
        now = PodInfo(current) if current is not None else None
        if now is None or now.uid != pod.uid or now.node_name:
            self._queue.done(pod.uid)
            if now is None or now.uid == pod.uid:
                self._tell(pod, decision)
            return None
        queued.pod = now
        queued.unschedulable_plugins = set(decision.diagnosis.unschedulable_plugins)
        queued.pending_plugins = set(decision.diagnosis.pending_plugins)
        queued.gating_plugin = ""
        self._queue.add_unschedulable(queued)
        self._queue.nominator.add(now, decision.nomination.node_name if decision.nomination else None)
        self._tell(now, decision)
        return self._report(now, decision)

    def _tell(self, pod: PodInfo, decision: Decision) -> None:
        note = decision.message
        self._announcer.tell(pod.scheduler_name, pod.pod, "Warning", "FailedScheduling", "Scheduling", note)

    async def _report(self, pod: PodInfo, decision: Decision) -> None:
        message, status = decision.message, decision.status
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable" if status is not None and status.is_rejected else "SchedulerError",
            "message": message,
        }
        nominated = decision.nomination.node_name if decision.nomination else None
        patch = status_patch(pod.pod, condition, nominated, format_time(self._clock.now()))
        if patch is None:
            return
        try:
            await patch_status(self._api, pod.pod, patch)
        except ApiError as error:
            log.error("cannot write the status of a pod", pod=str(pod.key), error=error.message)


def refused(node_name: str, status: Status) -> Decision:
    """A node was found, but what comes after said no. A refusal reads as if that were the only node."""
    if not status.is_rejected:
        return not_bound(status)
    diagnosis = Diagnosis(total_nodes=1)
    diagnosis.refuse(node_name, status)
    return Decision(diagnosis, status=Status(Code.UNSCHEDULABLE), nomination=TAKE_BACK_PROMISE)


def not_bound(status: Status) -> Decision:
    """A node was found, but the pod could not be bound to it: it is tried again after a backoff, whatever happens."""
    return Decision(Diagnosis(), status=status, nomination=TAKE_BACK_PROMISE)
