"""Fan-out: from the cache to everybody who watches.

The cache publishes what it applied; a watcher collects what concerns it until its handler takes it, all at once, so a
burst costs a watcher one task switch and one send. Watchers are indexed by what they watch: a change costs nothing to
those it does not concern.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import NamedTuple

from apiserver.storage.interface import Change, Key


class TooSlow(Exception):
    """The watcher was cut off: it fell too far behind, or the cache began anew.

    What it had not taken yet is lost to it; its client watches again from the last revision it saw.
    """


class Scope(NamedTuple):
    """What is watched; "" means all. A cluster-scoped object has namespace "", so its scope has none either."""

    resource: str
    namespace: str = ""
    name: str = ""

    def covers(self, key: Key) -> bool:
        return (
            key.resource == self.resource
            and (not self.namespace or key.namespace == self.namespace)
            and (not self.name or key.name == self.name)
        )


# Reads on from a revision in the log: what concerns the watcher, and how far that reaches. Raises Compacted.
ReadLog = Callable[[int], Awaitable[tuple[Sequence[Change], int]]]


class Watcher:
    """One watch. Leave it with `close` or by using it as a context manager.

    Not more than `max_pending` changes wait here. Full: the watcher is cut off, next_batch raises TooSlow.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        scope: Scope,
        since: int,
        *,
        max_pending: int,
        missed: Sequence[Change] = (),
        read_log: ReadLog | None = None,
    ) -> None:
        self.scope = scope
        self._broadcast, self._since, self._max_pending, self._read_log = broadcast, since, max_pending, read_log
        # With read_log, the changes from _position to _joined are still to be read; those after it come by push.
        self._position, self._joined = since, broadcast.revision
        self._pending = list(missed)
        self._room = max_pending + len(missed)  # what was missed does not count against a watcher that just came
        self._waiter: asyncio.Future[None] | None = None  # set while next_batch waits
        self._is_interrupted = False
        self._is_ended = False  # nothing more comes
        self._cut_off_at: int | None = None  # `revision` when it was cut off; what came after it got lost

    @property
    def revision(self) -> int:
        """Everything up to here was handed out or does not concern this watcher: what a bookmark may say."""
        if self._cut_off_at is not None:
            return self._cut_off_at
        if self._read_log is not None:
            return self._position
        told = self._pending[0].revision - 1 if self._pending else self._broadcast.revision
        return max(self._since, told)

    async def next_batch(self) -> Sequence[Change]:
        """Everything that waits, in revision order; if nothing does, wait for it.

        Empty after `interrupt`. Raises TooSlow, and Compacted where the log lost the beginning meanwhile.
        May be cancelled (a timeout): nothing is lost, the next call goes on.
        """
        while self._read_log is not None and self._cut_off_at is None:
            missed, self._position = await self._read_log(self._position)
            if self._position >= self._joined:
                self._read_log = None
            if missed:
                return missed
        while not (self._pending or self._is_ended or self._is_interrupted or self._cut_off_at is not None):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._is_interrupted = False
        return self.waiting()

    def waiting(self) -> Sequence[Change]:
        """Everything that waits, perhaps nothing: for whoever has no time to wait. Raises TooSlow.

        Not for a watcher that still reads from the log.
        """
        if self._cut_off_at is not None or (self._is_ended and not self._pending):
            raise TooSlow
        batch, self._pending = self._pending, []
        self._room = self._max_pending
        return batch

    def interrupt(self) -> None:
        """Let next_batch return, empty if need be: the handler has a bookmark to send, or its time is up."""
        self._is_interrupted = True
        self.wake()

    def close(self) -> None:
        self._broadcast.remove(self)

    def push(self, change: Change) -> None:
        """Called by the broadcast, which wakes the watcher when all changes of its batch are pushed."""
        if change.revision <= self._since:
            return  # a watch from a revision that is yet to come
        if len(self._pending) >= self._room:
            self.cut_off()
            return
        self._pending.append(change)

    def end(self) -> None:
        """What waits may still be taken, then next_batch raises TooSlow: its client watches again or learns why not."""
        self._is_ended = True
        self._broadcast.remove(self)
        self.wake()

    def cut_off(self) -> None:
        self._cut_off_at = self.revision
        self._pending = []
        self._broadcast.remove(self)
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[Sequence[Change]]:
        while True:
            yield await self.next_batch()


class Broadcast:
    """The watchers, and the revision up to which they were told everything."""

    def __init__(self) -> None:
        self.revision = 0
        # Insertion-ordered (no sets), so that watchers are woken in the same order in every run of a simulation.
        self._watchers: dict[tuple[str, str, str], dict[Watcher, None]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return sum(len(watchers) for watchers in self._watchers.values())

    def add(self, watcher: Watcher) -> None:
        if self._is_closed:
            watcher.cut_off()
            return
        self._watchers.setdefault(watcher.scope, {})[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        watchers = self._watchers.get(watcher.scope)
        if watchers is not None and watchers.pop(watcher, False) is None and not watchers:
            del self._watchers[watcher.scope]

    def publish(self, changes: Sequence[Change]) -> None:
        """Hand the next changes to those they concern. No await in here: nobody sees half a batch."""
        touched: dict[Watcher, None] = {}
        for change in changes:
            resource, namespace, name = change.key
            self._push(change, (resource, "", ""), touched)
            self._push(change, (resource, "", name), touched)
            if namespace:
                self._push(change, (resource, namespace, ""), touched)
                self._push(change, (resource, namespace, name), touched)
        self.revision = changes[-1].revision
        for watcher in touched:
            watcher.wake()

    def close(self) -> None:
        """The server stops: every watcher is cut off, and so is whoever still comes."""
        self._is_closed = True
        self.cut_off_all()

    def end(self, resource: str) -> None:
        """The resource is served no more, or not as before: all who watch it get what waits for them, and no more."""
        for scope, watchers in list(self._watchers.items()):
            if scope[0] == resource:
                for watcher in list(watchers):
                    watcher.end()

    def cut_off_all(self) -> None:
        """The changes have a gap: every watcher has to begin anew."""
        for watchers in list(self._watchers.values()):
            for watcher in list(watchers):
                watcher.cut_off()

    def _push(self, change: Change, scope: tuple[str, str, str], touched: dict[Watcher, None]) -> None:
        watchers = self._watchers.get(scope)
        if watchers is None:
            return
        touched.update(watchers)
        for watcher in list(watchers):
            watcher.push(change)
