"""The objects an informer knows, by key and by index. Read-only to everybody but the reflector.

Objects handed out are the cache's own dicts: copy before you edit. With `mutation_detector=True` (tests) the store
keeps a second, encoded copy of everything and raises `CacheMutated` as soon as it sees that someone did edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import orjson

from kubeloop.apimachinery.meta import Object, ObjectKey, is_older, key_of, labels_of, resource_version_of

Objects = list[Object]  # inside the classes below, `list` is a method
IndexFunction = Callable[[Object], Iterable[str]]


class LabelSelector(Protocol):
    """What `list` needs of a selector."""

    def matches(self, labels: Mapping[str, str]) -> bool: ...


class Delta(NamedTuple):
    """One change of the store: added (no old), updated (both), deleted (no new)."""

    old: Object | None
    new: Object | None

    @property
    def obj(self) -> Object:
        """The object as it is, or as it last was."""
        obj = self.new if self.new is not None else self.old
        assert obj is not None
        return obj


class CacheMutated(Exception):
    """Somebody edited an object that a store handed out."""


class Store:
    """Not a queue: it holds each object once, so the cluster's size bounds it."""

    def __init__(self, name: str, mutation_detector: bool = False) -> None:
        self.name = name
        self._objects: dict[ObjectKey, Object] = {}
        self._by_namespace: dict[str, dict[ObjectKey, Object]] = {}
        self._index_functions: dict[str, IndexFunction] = {}
        # index name -> value -> objects; holds exactly what the index function says of each current object.
        self._indices: dict[str, dict[str, dict[ObjectKey, Object]]] = {}
        # index name -> what the index function said of each current object, where it said anything.
        self._values: dict[str, dict[ObjectKey, tuple[str, ...]]] = {}
        self._detector = MutationDetector(name) if mutation_detector else None

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> Object | None:
        obj = self._objects.get(key)
        if obj is not None and self._detector:
            self._detector.handed_out([obj])
        return obj

    def list(self, namespace: str = "", selector: LabelSelector | None = None) -> Objects:
        """Of one namespace, or of all ("")."""
        objects: Iterable[Object] = (self._by_namespace.get(namespace, {}) if namespace else self._objects).values()
        if selector is not None:
            objects = (obj for obj in objects if selector.matches(labels_of(obj)))
        return self._handed_out(list(objects))

    def object_keys(self) -> Sequence[ObjectKey]:
        return tuple(self._objects)

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Adding a name again does nothing: several loops may ask a shared informer for the same index."""
        if name in self._index_functions:
            return
        self._index_functions[name] = function
        self._indices[name], self._values[name] = {}, {}
        for key, obj in self._objects.items():
            self._index_one(name, function, key, obj)

    def by_index(self, name: str, value: str) -> Objects:
        return self._handed_out(list(self._indices[name].get(value, {}).values()))

    def index_values(self, name: str) -> Sequence[str]:
        """The values that at least one object has."""
        return tuple(self._indices[name])

    def put(self, obj: Object) -> Delta:
        key = key_of(obj)
        return self._put(key, self._objects.get(key), obj)

    def advance(self, obj: Object) -> Delta | None:
        """`put`, but None, and no change, where a later version of the object is here."""
        key = key_of(obj)
        known = self._objects.get(key)
        return None if known is not None and is_older(obj, known) else self._put(key, known, obj)

    def _put(self, key: ObjectKey, old: Object | None, obj: Object) -> Delta:
        self._objects[key] = obj
        in_namespace = self._by_namespace.get(key.namespace)
        if in_namespace is None:
            in_namespace = self._by_namespace[key.namespace] = {}
        in_namespace[key] = obj
        for name, function in self._index_functions.items():
            self._index_one(name, function, key, obj)
        if self._detector:
            self._detector.replaced(old, obj)
        return Delta(old, obj)

    def remove(self, key: ObjectKey) -> Delta | None:
        old = self._objects.pop(key, None)
        if old is None:
            return None
        self._remove_from_indices(key)
        in_namespace = self._by_namespace[key.namespace]
        del in_namespace[key]
        if not in_namespace:
            del self._by_namespace[key.namespace]
        if self._detector:
            self._detector.replaced(old, None)
        return Delta(old, None)

    def replace(self, objects: Iterable[Object]) -> Sequence[Delta]:
        """Become exactly `objects` (a relist): what is missing among them was deleted while nobody watched."""
        deltas = []
        present = set()
        for obj in objects:
            key = key_of(obj)
            present.add(key)
            known = self._objects.get(key)
            if known is None or resource_version_of(known) != resource_version_of(obj):
                deltas.append(self.put(obj))
        gone = [key for key in self._objects if key not in present]
        return deltas + [delta for key in gone if (delta := self.remove(key))]

    def verify(self, everything: bool = False) -> None:
        """Raise CacheMutated where an object handed out since the last call (or any object) was edited."""
        if self._detector:
            self._detector.verify(everything)

    def _handed_out(self, objects: Objects) -> Objects:
        if self._detector:
            self._detector.handed_out(objects)
        return objects

    def _index_one(self, name: str, function: IndexFunction, key: ObjectKey, obj: Object) -> None:
        """Most changes leave the values as they were: the object just takes the place of the one before."""
        index, values = self._indices[name], self._values[name]
        before, after = values.get(key, ()), tuple(function(obj))
        if before != after:
            _remove(index, before, key)
            if after:
                values[key] = after
            else:
                del values[key]
        for value in after:
            members = index.get(value)
            if members is None:
                members = index[value] = {}
            members[key] = obj

    def _remove_from_indices(self, key: ObjectKey) -> None:
        for name, values in self._values.items():
            _remove(self._indices[name], values.pop(key, ()), key)


def _remove(index: dict[str, dict[ObjectKey, Object]], values: Iterable[str], key: ObjectKey) -> None:
    for value in values:
        members = index.get(value)  # None: an object may have a value twice
        if members is not None and members.pop(key, None) is not None and not members:
            del index[value]


class MutationDetector:
    """Keeps each object's text as it came and compares: the price of one encoding an object read, so for tests only."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name
        self._originals: dict[int, tuple[Object, bytes]] = {}  # by identity; the tuple keeps the object alive
        self._suspects: dict[int, Object] = {}

    def replaced(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self._suspects.pop(id(old), None)
            self._check(old)
            del self._originals[id(old)]
        if new is not None:
            self._originals[id(new)] = (new, _text(new))

    def handed_out(self, objects: Iterable[Object]) -> None:
        for obj in objects:
            self._suspects[id(obj)] = obj

    def verify(self, everything: bool) -> None:
        suspects = [obj for obj, _ in self._originals.values()] if everything else list(self._suspects.values())
        self._suspects.clear()
        for obj in suspects:
            self._check(obj)

    def _check(self, obj: Object) -> None:
        before = self._originals[id(obj)][1]
        if _text(obj) == before:
            return
        original = orjson.loads(before)
        where = ", ".join(_differences(original, obj, ""))
        subject = f"{original.get('kind', 'object')} {key_of(original)}"
        raise CacheMutated(
            f"{subject} was edited at {where} in the store of {self._store_name};"
            " objects from a store are shared: copy before you edit"
        )


def _text(obj: Object) -> bytes:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def _differences(before: object, after: object, path: str) -> list[str]:
    """The paths at which two JSON values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in dict.fromkeys([*before, *after]):
            found += _differences(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [where for i, (a, b) in pairs for where in _differences(a, b, f"{path}[{i}]")]
    return [] if before == after else [path or "the object itself"]
