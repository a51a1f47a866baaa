"""The watch cache: every current object in memory, and the changes of the recent past.

All reads of the API server come from here, and so do all watches; storage is asked only for what lies further back
than the window. The tail (tail.py) feeds it. Everything here runs in the event loop and shares immutable objects.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence
from functools import partial
from itertools import count

from apiserver.storage.interface import Change, Compacted, Key, Storage, Stored
from apiserver.storage.window import Window
from apiserver.watch.broadcast import Broadcast, Scope, Watcher
from apiserver.watch.events import EventEncoding
from apiserver.watch.objects import SortedObjects

_READ_AT_ONCE = 1_000  # changes a resuming watch takes from storage in one read


class WatchCache:
    """Bounds: `window_changes` and `window_bytes` for the window (full: the oldest leave), `watcher_changes` for each
    watcher (full: it is cut off). Current objects are as many as there are.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        window_changes: int = 100_000,
        window_bytes: int = 64 << 20,
        watcher_changes: int = 10_000,
    ) -> None:
        self.events = EventEncoding()
        self.broadcast = Broadcast()
        self._storage = storage
        self._watcher_changes = watcher_changes
        self._window_changes, self._window_bytes = window_changes, window_bytes
        self._window = Window(max_changes=window_changes, max_bytes=window_bytes)
        self._objects: dict[str, SortedObjects] = {}
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap: revision, tie-break, future
        self._tie_break = count()

    # Fed by the tail

    def replace(self, revision: int, objects: Sequence[Stored]) -> None:
        """Begin anew from a snapshot. Whoever watches is cut off, as the changes up to it are unknown."""
        by_resource: dict[str, list[Stored]] = {}
        for stored in objects:
            by_resource.setdefault(stored.key.resource, []).append(stored)
        self._objects = {resource: SortedObjects(found) for resource, found in by_resource.items()}
        self._window = Window(revision, max_changes=self._window_changes, max_bytes=self._window_bytes)
        self.broadcast.cut_off_all()
        self.broadcast.revision = revision
        self._release_waiting()

    def apply(self, changes: Sequence[Change]) -> None:
        """The next changes of the log. No await in here: a reader sees all of a batch or nothing."""
        for change in changes:
            objects = self._objects.get(change.key.resource)
            if objects is None:
                objects = self._objects[change.key.resource] = SortedObjects()
            if change.current is not None:
                objects.put(change.current)
            else:
                objects.remove(change.key)
        self._window.extend(changes)
        self.broadcast.publish(changes)
        self._release_waiting()

    # Reading

    @property
    def revision(self) -> int:
        """The newest revision applied."""
        return self.broadcast.revision

    async def fresh(self) -> None:
        """Wait until every write acknowledged so far is visible here; without a task switch if it is already."""
        head = self._storage.head
        if self.broadcast.revision < head:
            await self._reached(head)

    async def wait_for(self, revision: int, timeout_seconds: float) -> bool:
        """Whether the cache reaches `revision` in time."""
        if self.broadcast.revision >= revision:
            return True
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._reached(revision)
        except TimeoutError:
            return False
        return True

    def get(self, key: Key) -> Stored | None:
        objects = self._objects.get(key.resource)
        return objects.get(key) if objects is not None else None

    def list(self, resource: str, namespace: str = "") -> Sequence[Stored]:
        """In key order."""
        objects = self._objects.get(resource)
        return objects.list(namespace) if objects is not None else ()

    async def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Stored]:
        """As it was at `revision` (a list continued): from the window, or else from storage. Raises Compacted."""
        if revision < self._window.start:
            return await self._storage.range_at(resource, namespace, revision)
        versions: dict[Key, Stored | None] = {}
        for change in self._window.after(revision):
            if change.key.resource == resource:
                versions.setdefault(change.key, change.previous)
        return self._objects.get(resource, SortedObjects()).with_versions(versions).list(namespace)

    def count(self, resource: str) -> int:
        objects = self._objects.get(resource)
        return len(objects) if objects is not None else 0

    def resources(self) -> Sequence[str]:
        """Those with at least one object, sorted."""
        return sorted(resource for resource, objects in self._objects.items() if len(objects))

    # Watching

    def watch(self, resource: str, namespace: str = "", name: str = "", since: int | None = None) -> Watcher:
        """Watch what changes after `since` (None: from now, the revision of a list made in the same breath).

        Raises Compacted if the changes after `since` are no longer known; where storage has to be read for them, the
        watcher's first next_batch may raise it too. A `since` that is yet to come hides the changes up to it.
        """
        since = self.revision if since is None else since
        scope = Scope(resource, namespace, name)
        if since >= self._window.start:
            missed = [change for change in self._window.after(since) if scope.covers(change.key)]
            watcher = Watcher(self.broadcast, scope, since, max_pending=self._watcher_changes, missed=missed)
        elif since >= self._storage.compacted:
            read = partial(self._read_log, scope, self.revision)
            watcher = Watcher(self.broadcast, scope, since, max_pending=self._watcher_changes, read_log=read)
        else:
            raise Compacted(since, min(self._storage.compacted, self._window.start))
        self.broadcast.add(watcher)
        return watcher

    async def _read_log(self, scope: Scope, until: int, position: int) -> tuple[Sequence[Change], int]:
        changes = await self._storage.changes_after(position, _READ_AT_ONCE)
        reached = changes[-1].revision if len(changes) == _READ_AT_ONCE else until
        return [change for change in changes if change.revision <= until and scope.covers(change.key)], reached

    async def _reached(self, revision: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._tie_break), future))
        await future

    def _release_waiting(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.revision:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)
