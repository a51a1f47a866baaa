"""Watches Faults while their kind is served: one informer that comes and goes with the CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Callable

from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.faults.reconciler import FaultReconciler
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, key_of
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.manager import Manager

_LOOK_SECONDS = 0.02


class ServedFaults:
    """Before the manager runs."""

    def __init__(self, manager: Manager, reconciler: FaultReconciler, enqueue: Callable[[ObjectKey], None]) -> None:
        self._manager, self._reconciler, self._enqueue = manager, reconciler, enqueue
        self._informer: Informer | None = None
        name = f"metadata.name={FAULTS}"
        manager.informer(CUSTOM_RESOURCE_DEFINITIONS, field_selector=name).add_handler(self._note)

    async def wait_for_sync(self) -> None:
        """Until the faults that there are are in force."""
        while self._informer is not None and not self._informer.has_synced:
            await self._manager.clock.sleep(_LOOK_SECONDS)  # the kind may go while it is waited for
        self._reconciler.refresh()

    def _note(self, delta: Delta) -> None:
        if delta.new is not None and _is_served(delta.new):
            self._begin()
        elif self._informer is not None:
            self._end(self._informer)

    def _begin(self) -> None:
        if self._informer is not None:
            return
        self._informer = self._manager.informer(FAULTS)
        self._reconciler.known = self._informer.list
        self._informer.add_handler(lambda delta: self._enqueue(key_of(delta.obj)))

    def _end(self, informer: Informer) -> None:
        self._informer = None
        self._reconciler.known = tuple
        self._manager.drop_informer(informer)
        self._reconciler.refresh()


def _is_served(definition: Object) -> bool:
    if is_being_deleted(definition) or not is_true(conditions_of(definition), "Established"):
        return False
    return any(version["name"] == FAULTS.version and version["served"] for version in definition["spec"]["versions"])
