"""Where a controller's keys come from: its own objects, what they own, or anything mapped to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_of,
    key_of,
    namespace_of,
    owner_references_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.predicates import Predicate, all_of
from kubeloop.runtime.workqueue import LOW_PRIORITY

MapToKeys = Callable[[Object], Iterable[ObjectKey]]
# For how many seconds news of a key are gathered before it is looked at: more of them meanwhile change nothing.
Delay = Callable[[ObjectKey, Delta], float]


class Keys(Protocol):
    """Where a source puts its keys: a controller's queue."""

    def add(self, key: ObjectKey, priority: int = 0) -> None: ...

    def add_after(self, key: ObjectKey, seconds: float, priority: int = 0) -> None: ...


class Source(Protocol):
    @property
    def informer(self) -> Informer: ...

    def start(self, keys: Keys, predicates: Sequence[Predicate] = ()) -> None:
        """From now on, and (at low priority) for everything known already. `predicates` are the whole controller's."""
        ...

    def resync(self, keys: Keys) -> None:
        """What a resync visits, at low priority: a periodic one, and that after an informer has listed anew."""
        ...


class Watches:
    """Every change enqueues what `map_to_keys` makes of the object, before the change and after it.

    `delay`: how long after the change; None is at once, as is what the source finds when it starts.
    `controlled_by`: the kinds of controllers that objects with keys may have, None for none; left out: any. Others'
    objects then cost nothing (Informer.add_handler).
    """

    _keys_may_change = True

    def __init__(
        self,
        informer: Informer,
        map_to_keys: MapToKeys,
        predicates: Sequence[Predicate] = (),
        *,
        delay: Delay | None = None,
        controlled_by: Collection[Resource | None] | None = None,
    ) -> None:
        self.informer, self._map, self._predicates, self._delay = informer, map_to_keys, predicates, delay
        self._controlled_by = controlled_by

    def start(self, keys: Keys, predicates: Sequence[Predicate] = ()) -> None:
        everything = (*predicates, *self._predicates)
        passes = all_of(*everything).passes if everything else None
        map_to_keys, informer, keys_may_change = self._map, self.informer, self._keys_may_change
        add, add_after, delay = keys.add, keys.add_after, self._delay
        is_replay = True

        def on_change(delta: Delta) -> None:
            old, new = delta
            if passes is not None and not passes(old, new):
                return
            is_old_news = is_replay or not informer.has_synced
            for obj in (old if keys_may_change or new is None else None, new):
                if obj is None:
                    continue
                for key in map_to_keys(obj):
                    if is_old_news:
                        add(key, LOW_PRIORITY)
                    elif delay is None:
                        add(key, 0)
                    else:
                        add_after(key, delay(key, delta))

        informer.add_handler(on_change, self._controlled_by)  # tells at once of what is known
        is_replay = False

    def resync(self, keys: Keys) -> None:
        return None


class For(Watches):
    """The controller's own objects: every change enqueues the object itself, and so does a resync."""

    _keys_may_change = False

    def __init__(self, informer: Informer, predicates: Sequence[Predicate] = (), *, delay: Delay | None = None) -> None:
        super().__init__(informer, lambda obj: (key_of(obj),), predicates, delay=delay)

    def resync(self, keys: Keys) -> None:
        for key in self.informer.object_keys():
            keys.add(key, LOW_PRIORITY)


class Owns(Watches):
    """Children: every change enqueues the owner that the controller reference names, if it is of `owner_resource`.

    With `every_owner` all owner references of that resource count, not the controller's alone.
    """

    def __init__(
        self,
        informer: Informer,
        owner_resource: Resource,
        predicates: Sequence[Predicate] = (),
        *,
        every_owner: bool = False,
        delay: Delay | None = None,
    ) -> None:
        keys = every_owner_keys if every_owner else owner_keys
        kinds = None if every_owner else (owner_resource,)
        super().__init__(informer, lambda obj: keys(obj, owner_resource), predicates, delay=delay, controlled_by=kinds)


def owner_keys(obj: Object, owner_resource: Resource) -> Iterable[ObjectKey]:
    """The key of the controlling owner, if it is of that resource's group and kind; the version does not matter."""
    reference = controller_of(obj)
    return () if reference is None else _key_of_owner(obj, reference, owner_resource)


def every_owner_keys(obj: Object, owner_resource: Resource) -> Iterable[ObjectKey]:
    """The keys of all owners of that resource's group and kind."""
    return [key for reference in owner_references_of(obj) for key in _key_of_owner(obj, reference, owner_resource)]


def _key_of_owner(obj: Object, reference: ReadOnlyObject, owner_resource: Resource) -> Iterable[ObjectKey]:
    if reference.get("kind") != owner_resource.kind:
        return ()
    if (reference.get("apiVersion") or "").rpartition("/")[0] != owner_resource.group:
        return ()
    return (ObjectKey(namespace_of(obj) if owner_resource.namespaced else "", reference.get("name") or ""),)
