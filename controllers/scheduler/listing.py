"""The objects of one kind as plugins read them, where no informer follows them: read once, or none at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kubeloop.apimachinery.meta import Object, ObjectKey, key_of


class Listing:
    """A Lister of what it was filled with; a new one lists nothing, as does a kind that is not served."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, Object] = {}

    def fill(self, objects: Iterable[Object]) -> None:
        self._objects = {key_of(obj): obj for obj in objects}

    @contextmanager
    def also(self, obj: Object) -> Iterator[None]:
        """Meanwhile `obj` is among them, too, or instead of the one it is named like."""
        before = self._objects
        self._objects = {**before, key_of(obj): obj}
        try:
            yield
        finally:
            self._objects = before

    def get(self, key: ObjectKey) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str = "") -> list[Object]:
        return [obj for key, obj in self._objects.items() if namespace in ("", key.namespace)]
