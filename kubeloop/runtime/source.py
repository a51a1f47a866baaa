"""Where a controller's keys come from: its own objects, what they own, or anything mapped to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kubeloop.apimachinery.meta import Object, ObjectKey, controller_of, key_of, namespace_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.predicates import Predicate

Enqueue = Callable[[ObjectKey], None]
MapToKeys = Callable[[Object], Iterable[ObjectKey]]


class Source(Protocol):
    @property
    def informer(self) -> Informer: ...

    def start(self, enqueue: Enqueue) -> None:
        """From now on, and for everything known already."""
        ...

    def resync(self, enqueue: Enqueue) -> None:
        """The keys that a periodic resync visits."""
        ...


class Watches:
    """Every change enqueues what `map_to_keys` makes of the object, before the change and after it."""

    def __init__(self, informer: Informer, map_to_keys: MapToKeys, predicates: Sequence[Predicate] = ()) -> None:
        self.informer, self._map, self._predicates = informer, map_to_keys, predicates

    def start(self, enqueue: Enqueue) -> None:
        def on_change(delta: Delta) -> None:
            old, new = delta
            if old is not None and new is not None and not all(passes(old, new) for passes in self._predicates):
                return
            for obj in (old, new):
                if obj is not None:
                    for key in self._map(obj):
                        enqueue(key)

        self.informer.add_handler(on_change)

    def resync(self, enqueue: Enqueue) -> None:
        return None


class For(Watches):
    """The controller's own objects: every change enqueues the object itself, and so does a resync."""

    def __init__(self, informer: Informer, predicates: Sequence[Predicate] = ()) -> None:
        super().__init__(informer, lambda obj: (key_of(obj),), predicates)

    def resync(self, enqueue: Enqueue) -> None:
        for key in self.informer.object_keys():
            enqueue(key)


class Owns(Watches):
    """Children: every change enqueues the owner that the controller reference names, if it is of `owner_resource`."""

    def __init__(self, informer: Informer, owner_resource: Resource, predicates: Sequence[Predicate] = ()) -> None:
        super().__init__(informer, lambda obj: owner_keys(obj, owner_resource), predicates)


def owner_keys(obj: Object, owner_resource: Resource) -> Iterable[ObjectKey]:
    """The key of the controlling owner, if it is of that resource's group and kind; the version does not matter."""
    reference = controller_of(obj)
    if reference is None or reference.get("kind") != owner_resource.kind:
        return ()
    if (reference.get("apiVersion") or "").rpartition("/")[0] != owner_resource.group:
        return ()
    return (ObjectKey(namespace_of(obj) if owner_resource.namespaced else "", reference.get("name") or ""),)
