"""Objects as they will be once our writes are done, so that the next pod is not promised the same volume."""

from __future__ import annotations

from controllers.scheduler.interface import Lister
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, resource_version_of


class AssumedObjects:
    """A lister with assumptions on top. Any newer version of an object ends the assumption about it."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._assumed: dict[ObjectKey, tuple[str, Object]] = {}  # the version it was assumed on, and what will be

    def get(self, key: ObjectKey) -> Object | None:
        return self._latest(key, self._lister.get(key))

    def list(self) -> list[Object]:
        found = (self._latest(key_of(obj), obj) for obj in self._lister.list())
        return [obj for obj in found if obj is not None]

    def seen(self, key: ObjectKey) -> Object | None:
        """What the server says, whatever we assume."""
        return self._lister.get(key)

    def assume(self, before: ReadOnlyObject, after: Object) -> None:
        self._assumed[key_of(before)] = (resource_version_of(before), after)

    def restore(self, key: ObjectKey) -> None:
        self._assumed.pop(key, None)

    def _latest(self, key: ObjectKey, seen: Object | None) -> Object | None:
        if key not in self._assumed:
            return seen
        version, assumed = self._assumed[key]
        if seen is not None and resource_version_of(seen) == version:
            return assumed
        del self._assumed[key]
        return seen
