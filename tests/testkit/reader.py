"""A Reader over a dict, and a clock whose sleeps pass at once: what admission and authorization are tested with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from kubeloop.apimachinery.meta import Object, name_of, namespace_of


class DictReader:
    """Objects by storage resource, namespace and name; lists are in key order, as the cache's are."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str, str], Object] = {}

    def put(self, resource: str, *objects: Object) -> DictReader:
        for obj in objects:
            self._objects[resource, namespace_of(obj), name_of(obj)] = obj
        return self

    def remove(self, resource: str, namespace: str, name: str) -> None:
        self._objects.pop((resource, namespace, name), None)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._objects.get((resource, namespace, name))

    def list(self, resource: str, namespace: str = "") -> Iterator[Object]:
        for key in sorted(self._objects):
            if key[0] == resource and namespace in ("", key[1]):
                yield self._objects[key]


class InstantClock:
    """Sleeping moves the time on and takes none; `during_sleep` is what the rest of the world does meanwhile."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, tzinfo=UTC)) -> None:
        self._now = start
        self.slept_seconds = 0.0
        self.during_sleep: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self.slept_seconds

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self.slept_seconds += seconds
        self.during_sleep()
