"""An informer: a store, the reflector that fills it, and those who want to hear of changes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.handlers import Handler, Handlers
from kubeloop.client.indexes import by_field
from kubeloop.client.reflector import Reflector, Scope
from kubeloop.client.store import Delta, IndexFunction, LabelSelector, Objects, Store


class Informer:
    """Reads are served from memory and lag the server a little; everything handed out is read-only.

    Handlers are plain functions called in the order they were added, after the store has changed. They must return at
    once (put a key into a queue, note an observation); what they raise ends the informer, and with it the process.
    """

    def __init__(
        self,
        api: Api,
        scope: Scope,
        clock: Clock,
        rng: random.Random,
        *,
        mutation_detector: bool = False,
        managed_fields: bool = True,
    ) -> None:
        self.scope = scope
        self.store = Store(str(scope), mutation_detector)
        self._reflector = Reflector(
            api, scope, self.store, self.notify, clock, rng, self._listed, managed_fields=managed_fields
        )
        self._handlers = Handlers()
        self._relist_handlers: list[Callable[[], None]] = []
        self._synced = asyncio.Event()

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the store."""
        return self._synced.is_set()

    async def wait_for_sync(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        """Until cancelled."""
        await self._reflector.run()

    def add_handler(self, handler: Handler, controlled_by: Collection[Resource | None] | None = None) -> None:
        """From now on; what is already known is told as added first.

        `controlled_by`: only of objects with a controller of one of these kinds, before the change or after it; None
        among them is those without a controller.
        """
        concerned = Handlers()
        for handlers in (self._handlers, concerned):
            handlers.add(handler, controlled_by)
        for obj in self.store.list():
            delta = Delta(None, obj)
            for each in concerned.of(delta):
                each(delta)

    def add_relist_handler(self, handler: Callable[[], None]) -> None:
        """Called when everything was listed anew, after the handlers have heard of what that changed.

        What came and went while nobody watched is in no delta: who made a thing and never saw it has to look again.
        """
        self._relist_handlers.append(handler)

    def _listed(self) -> None:
        for handler in self._relist_handlers:
            handler()

    def get(self, key: ObjectKey) -> Object | None:
        return self.store.get(key)

    def list(self, namespace: str = "", selector: LabelSelector | None = None) -> Objects:
        return self.store.list(namespace, selector)

    def object_keys(self) -> Sequence[ObjectKey]:
        return self.store.object_keys()

    def add_index(self, name: str, function: IndexFunction) -> None:
        self.store.add_index(name, function)

    def index_field(self, *path: str) -> None:
        """Have `by_index(path, value)` find objects by a field: `index_field("spec.nodeName")` (indexes.by_field)."""
        self.add_index(".".join(path), by_field(*path))

    def by_index(self, name: str, value: str) -> Objects:
        return self.store.by_index(name, value)

    def notify(self, deltas: Sequence[Delta]) -> None:
        """Called by the reflector, once its store has changed."""
        for delta in deltas:
            for handler in self._handlers.of(delta):
                handler(delta)
        if not self._synced.is_set():
            self._synced.set()
