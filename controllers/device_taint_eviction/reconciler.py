"""Deleting a pod when its time with a tainted device is up.

The time starts when the taint was added, so that a restart of the loop neither shortens nor prolongs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controllers.device_taint_eviction.eviction import SlicesOf, eviction_time
from controllers.pod_status import condition_change, delete, disruption_target, patch_status
from controllers.pods import is_terminal, node_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, uid_of
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

_REASON, _WHY = "DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint"


class DeviceTaintEvictionReconciler:
    """Keys are pods. `claims_of` a pod: those that are reserved for it; `slices_of` a pool."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        pods: Informer,
        claims_of: Callable[[Object], Sequence[Object]],
        slices_of: SlicesOf,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._clock, self._pods, self._recorder = api, clock, pods, recorder
        self._claims_of, self._slices_of = claims_of, slices_of
        self._planned: dict[ObjectKey, str] = {}  # the uids of pods that exist, and are to go later

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None or uid_of(pod) != self._planned.get(key):
            self._planned.pop(key, None)
        if pod is None or not node_of(pod) or is_being_deleted(pod) or is_terminal(pod):
            return DONE
        due = eviction_time(self._claims_of(pod), self._slices_of)
        if due is None:
            if self._planned.pop(key, None) is not None:
                await self._tell(pod, "Cancelling deletion")
            return DONE
        self._planned[key] = uid_of(pod)
        seconds = (due - self._clock.now()).total_seconds()
        if seconds > 0:
            return RequeueAfter(seconds)
        await self._tell(pod, "Marking for deletion")
        await self._evict(pod)
        del self._planned[key]
        return DONE

    async def _evict(self, pod: Object) -> None:
        condition = disruption_target(pod, _REASON, _WHY)
        changes = condition_change(pod, condition, format_time(self._clock.now()))
        if await patch_status(self._api, pod, changes):
            await delete(self._api, pod)

    async def _tell(self, pod: Object, message: str) -> None:
        await self._recorder.event(pod, "Normal", "DeviceTaintManagerEviction", message)
