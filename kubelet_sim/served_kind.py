"""The objects of a kind while it is served: an informer that comes and goes with its CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, key_of
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.manager import Manager

_LOOK_SECONDS = 0.02


class ServedKind:
    """Before the manager runs. `enqueue` hears of each object that changes; `refresh` is called once all that are there
    are known, and when the kind is gone.
    """

    def __init__(
        self, manager: Manager, resource: Resource, enqueue: Callable[[ObjectKey], None], refresh: Callable[[], None]
    ) -> None:
        self._manager, self._resource, self._enqueue, self._refresh = manager, resource, enqueue, refresh
        self._informer: Informer | None = None
        name = f"metadata.name={resource}"
        manager.informer(CUSTOM_RESOURCE_DEFINITIONS, field_selector=name).add_handler(self._note)

    def objects(self) -> Sequence[Object]:
        """Those there are, while the kind is served."""
        return self._informer.list() if self._informer is not None else ()

    async def wait_for_sync(self) -> None:
        """Until those that there are are known."""
        while self._informer is not None and not self._informer.has_synced:
            await self._manager.clock.sleep(_LOOK_SECONDS)  # the kind may go while it is waited for
        self._refresh()

    def _note(self, delta: Delta) -> None:
        if delta.new is not None and _is_served(delta.new, self._resource.version):
            self._begin()
        elif self._informer is not None:
            self._end(self._informer)

    def _begin(self) -> None:
        if self._informer is not None:
            return
        self._informer = self._manager.informer(self._resource)
        self._informer.add_handler(lambda delta: self._enqueue(key_of(delta.obj)))

    def _end(self, informer: Informer) -> None:
        self._informer = None
        self._manager.drop_informer(informer)
        self._refresh()


def _is_served(definition: Object, version: str) -> bool:
    if is_being_deleted(definition) or not is_true(conditions_of(definition), "Established"):
        return False
    return any(one["name"] == version and one["served"] for one in definition["spec"]["versions"])
