"""The current objects of one resource, sorted by key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from apiserver.storage.interface import Key, Stored


class SortedObjects:
    """A lookup by key, and key order for lists: a list of a namespace is one slice.

    `_paths` and `_objects` are parallel and sorted by path; `_by_key` holds the same objects.
    """

    def __init__(self, objects: Sequence[Stored] = ()) -> None:
        self._objects = sorted(objects, key=_path)
        self._paths = [stored.key.path for stored in self._objects]
        self._by_key = {stored.key: stored for stored in self._objects}

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: Key) -> Stored | None:
        return self._by_key.get(key)

    def list(self, namespace: str = "") -> Sequence[Stored]:
        """A snapshot in key order; "" lists all namespaces."""
        if not namespace:
            return self._objects[:]
        begin = bisect_left(self._paths, namespace + "/")
        end = bisect_left(self._paths, namespace + "0", begin)  # "0" is the character after "/"
        return self._objects[begin:end]

    def put(self, stored: Stored) -> None:
        at = bisect_left(self._paths, stored.key.path)
        if stored.key in self._by_key:
            self._objects[at] = stored
        else:
            self._paths.insert(at, stored.key.path)
            self._objects.insert(at, stored)
        self._by_key[stored.key] = stored

    def remove(self, key: Key) -> None:
        if self._by_key.pop(key, None) is not None:
            at = bisect_left(self._paths, key.path)
            del self._paths[at], self._objects[at]

    def with_versions(self, versions: Mapping[Key, Stored | None]) -> SortedObjects:
        """These objects where some had other versions (None: were absent)."""
        changed = SortedObjects()
        changed._paths, changed._objects = self._paths[:], self._objects[:]
        changed._by_key = self._by_key.copy()
        for key, stored in versions.items():
            if stored is None:
                changed.remove(key)
            else:
                changed.put(stored)
        return changed


def _path(stored: Stored) -> str:
    return stored.key.path
