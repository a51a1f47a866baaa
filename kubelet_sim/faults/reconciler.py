"""Brings faults into force, ends them, and says so in their statuses: one key a fault, level-triggered.

What has changed is told to the reconcilers of nodes and pods, which look anew. A fault that was removed is healed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from kubelet_sim.faults import model
from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.faults.model import Fault
from kubelet_sim.faults.registry import Faults
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, generation_of, key_of
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, RequeueAfter, Result

_SHORTEST_WAIT_SECONDS = 0.001


class FaultReconciler:
    """`own`: the nodes of this process. `wake_node` and `wake_pod` are told whom a change concerns. Of several
    processes one, that `writes`, writes the statuses.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        pods: Informer,
        nodes: Informer,
        faults: Faults,
        own: Collection[str],
        wake_node: Callable[[str], None],
        wake_pod: Callable[[ObjectKey], None],
        writes: bool,
    ) -> None:
        self._api, self._clock, self._pods, self._nodes = api, clock, pods, nodes
        self._faults, self._own = faults, own
        self._wake_node, self._wake_pod, self._writes = wake_node, wake_pod, writes
        self.known: Callable[[], Sequence[Object]] = tuple  # the Faults there are, while the kind is served

    async def reconcile(self, key: ObjectKey) -> Result:
        now = self._clock.now()
        self.refresh()
        obj = next((obj for obj in self.known() if key_of(obj) == key), None)
        if obj is None:
            return DONE
        fault = model.read(obj)
        await self._write_status(obj, fault, now)
        change = fault.next_change(now) if not fault.problem else None
        if change is None:
            return DONE
        return RequeueAfter(max((change - now).total_seconds(), _SHORTEST_WAIT_SECONDS))

    def refresh(self) -> None:
        """Exactly those are in force that are known and whose time it is."""
        now = self._clock.now()
        faults = map(model.read, self.known())
        self._bring_into_force([fault for fault in faults if fault.is_active(now)], now)

    def _bring_into_force(self, active: Sequence[Fault], now: datetime) -> None:
        before, were_down = self._faults.active(), {name for name in self._own if self._faults.is_down(name)}
        self._faults.put(active)
        after = self._faults.active()
        if before == after:
            return
        for name in were_down:
            if not self._faults.is_down(name):
                self._faults.reboot(name, now)
        changed = [fault for fault in (*before, *after) if fault not in before or fault not in after]
        hit = {name for name in self._own if any(fault.hits_node(name, self._node(name)) for fault in changed)}
        for name in hit:
            self._wake_node(name)
        for pod in self._pods.list():
            node = pod["spec"]["nodeName"]
            if node in hit or (node in self._own and any(fault.hits_pod(pod) for fault in changed)):
                self._wake_pod(key_of(pod))

    def _node(self, name: str) -> ReadOnlyObject | None:
        return self._nodes.get(ObjectKey("", name))

    async def _write_status(self, obj: ReadOnlyObject, fault: Fault, now: datetime) -> None:
        if not self._writes:
            return
        wanted = {"observedGeneration": generation_of(obj), "phase": fault.phase(now), **self._counts(fault)}
        wanted |= {"message": fault.problem} if fault.problem else {}
        if (obj.get("status") or {}) == wanted:
            return
        current: Mapping[str, object] = obj.get("status") or {}
        patch = {"status": {**dict.fromkeys(current), **wanted}}
        try:
            await self._api.patch(FAULTS, fault.name, patch, subresource="status")
        except NotFound:
            return

    def _counts(self, fault: Fault) -> dict[str, int]:
        """Whom it hits, or would."""
        nodes = sum(fault.hits_node(node["metadata"]["name"], node) for node in self._nodes.list())
        return {"nodes": nodes, "pods": sum(fault.hits_pod(pod) for pod in self._pods.list())}
