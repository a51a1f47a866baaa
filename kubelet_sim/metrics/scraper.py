"""Keeps the readings of the last look, as a metrics server does; the look is made when somebody first asks after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubelet_sim.faults import influence, model
from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.metrics.readings import Readings, last_look, read
from kubelet_sim.served_kind import ServedKind
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, metadata, namespace_of
from kubeloop.apimachinery.resource import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from kubeloop.runtime.manager import Manager

# metrics-server's --metric-resolution.
RESOLUTION_SECONDS = 15.0

_WORKLOADS = (DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS)


class Scraper:
    def __init__(self, manager: Manager, resolution_seconds: float = RESOLUTION_SECONDS) -> None:
        self._clock: Clock = manager.clock
        self.pods, self.nodes = manager.informer(PODS), manager.informer(NODES)
        self._workloads = {
            (resource.api_version, resource.kind): manager.informer(resource, metadata_only=True)
            for resource in _WORKLOADS
        }
        self._faults = ServedKind(manager, FAULTS, lambda key: None, lambda: None)  # asked for when a look is made
        self._resolution_seconds = resolution_seconds
        self._taken_at: datetime | None = None
        self._readings = Readings({}, {})

    def readings(self) -> Readings:
        taken_at = last_look(self._clock.now(), self._resolution_seconds)
        if taken_at != self._taken_at:
            pods, nodes = self._pods_as_used(taken_at), self.nodes.list()
            self._readings = read(pods, nodes, self._workload_of, taken_at, self._resolution_seconds)
            self._taken_at = taken_at
        return self._readings

    def _pods_as_used(self, taken_at: datetime) -> Sequence[ReadOnlyObject]:
        active = [fault for fault in map(model.read, self._faults.objects()) if fault.is_active(taken_at)]
        if not active:
            return self.pods.list()
        active.sort(key=model.order)
        return [influence.as_used(active, pod) for pod in self.pods.list()]

    def _workload_of(self, pod: ReadOnlyObject) -> ReadOnlyObject | None:
        """Its controller, or that one's: the last that is known."""
        found, current = None, pod
        while (owner := self._controller_of(current)) is not None:
            found = current = owner
        return found

    def _controller_of(self, obj: ReadOnlyObject) -> ReadOnlyObject | None:
        for reference in metadata(obj).get("ownerReferences") or ():
            informer = self._workloads.get((reference["apiVersion"], reference["kind"]))
            if reference.get("controller") and informer is not None:
                owner = informer.get(ObjectKey(namespace_of(obj), reference["name"]))
                if owner is not None and metadata(owner)["uid"] == reference["uid"]:
                    return owner
        return None
