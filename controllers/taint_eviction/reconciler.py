"""Deleting a pod when its time on a tainted node is up.

The time starts when this loop first finds the pod there and tainted, and a running time is never moved: a second
taint neither shortens nor prolongs it. When no taint asks for it any more, it is called off and starts anew later.
Kept in memory, as upstream: after a restart of the loop all pods have their full time again.
"""

from __future__ import annotations

from dataclasses import dataclass

from controllers.pod_status import condition_change, delete, disruption_target, patch_status
from controllers.pods import node_of
from controllers.taint_eviction.patience import no_execute_taints, seconds_to_stay
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey, uid_of
from kubeloop.apimachinery.times import format_time
from kubeloop.apimachinery.tolerations import Taint
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result


@dataclass(slots=True)
class _Eviction:
    """Of the pod with this uid, at `due` on the monotonic clock."""

    uid: str
    due: float
    is_announced: bool = False
    is_done: bool = False


class TaintEvictionReconciler:
    """Keys are pods."""

    def __init__(self, api: Api, clock: Clock, pods: Informer, nodes: Informer, recorder: EventRecorder) -> None:
        self._api, self._clock, self._pods, self._nodes, self._recorder = api, clock, pods, nodes, recorder
        self._evictions: dict[ObjectKey, _Eviction] = {}  # of pods that exist, on nodes that are tainted

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        planned = self._evictions.get(key)
        if planned is not None and (pod is None or uid_of(pod) != planned.uid):
            await self._call_off(key)
        if pod is None:
            return DONE
        taints = self._taints_around(pod)
        seconds = seconds_to_stay((pod.get("spec") or {}).get("tolerations") or (), taints)
        if seconds == float("inf"):
            await self._call_off(key)
            return DONE
        return await self._evict_when_due(key, pod, seconds)

    def _taints_around(self, pod: Object) -> list[Taint]:
        node = self._nodes.get(ObjectKey("", node_of(pod))) if node_of(pod) else None
        return no_execute_taints(node) if node else []

    async def _evict_when_due(self, key: ObjectKey, pod: Object, seconds: float) -> Result:
        now = self._clock.monotonic()
        if seconds == 0:
            await self._call_off_waiting(key, now)
        eviction = self._evictions.setdefault(key, _Eviction(uid_of(pod), now + seconds))
        if eviction.is_done:
            return DONE
        if eviction.due > now:
            return RequeueAfter(eviction.due - now)
        if not eviction.is_announced:
            eviction.is_announced = True
            await self._tell(key, f"Marking for deletion Pod {key}")
        await self._evict(pod)
        eviction.is_done = True
        return DONE

    async def _evict(self, pod: Object) -> None:
        condition = disruption_target(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        changes = condition_change(pod, condition, format_time(self._clock.now()))
        if await patch_status(self._api, pod, changes):
            await delete(self._api, pod)

    async def _call_off_waiting(self, key: ObjectKey, now: float) -> None:
        """A pod that is to go at once does not wait for the time it had."""
        planned = self._evictions.get(key)
        if planned is not None and planned.due > now:
            await self._call_off(key)

    async def _call_off(self, key: ObjectKey) -> None:
        planned = self._evictions.pop(key, None)
        if planned is not None and not planned.is_announced:
            await self._tell(key, f"Cancelling deletion of Pod {key}")

    async def _tell(self, key: ObjectKey, message: str) -> None:
        """Upstream's events name the pod by its name alone."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": key.namespace, "name": key.name}}
        await self._recorder.event(pod, "Normal", "TaintManagerEviction", message)
