"""The revision log: everything of `Storage` but durability, which is its journal's.

Group commit: `write` appends to the pending list; when no commit is under way, everything pending is planned (`batch`),
committed by the journal through the executor, taken over into memory, and answered in revision order.

The current objects are kept in memory. They are exact because a data directory has one writer at a time (the journal
holds a lock), so a compare-and-swap needs no SELECT, and a change knows what it replaced. The bodies are shared with
the watch cache, so this costs a dict entry an object. A journal with other writers (PostgreSQL) would have to read
what they wrote before each batch, under its lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from apiserver.storage.batch import Batch, plan
from apiserver.storage.executor import Executor, call
from apiserver.storage.interface import Change, Compacted, Key, StorageUnavailable, Stored, Write
from apiserver.storage.journal import Busy, Journal
from apiserver.storage.window import Window

# The tail follows at once and a list in pages takes seconds, so this reaches back far enough for both.
_RECENT_CHANGES, _RECENT_BYTES = 10_000, 16 << 20
# Of a quick journal, so many take some milliseconds at most.
_SMALL_BATCH = 200

T = TypeVar("T")
_Pending = tuple[Write, "asyncio.Future[Change]"]


class RevisionLog:
    """A `Storage` over a journal. All state is touched in the event loop only.

    max_pending: writes that may wait. Full: the next one is a StorageUnavailable at once.
    max_batch: writes in one commit; the others wait for the next.
    """

    def __init__(
        self,
        journal: Journal,
        executor: Executor,
        *,
        max_pending: int = 20_000,
        max_batch: int = 1_000,
        compaction_step: int = 500,
    ) -> None:
        self._journal, self._executor = journal, executor
        self._max_pending, self._max_batch, self._compaction_step = max_pending, max_batch, compaction_step
        self._head = self._compacted = 0
        self._compacting = 0  # how far compaction has been asked of the journal, ahead of _compacted
        self._current: dict[str, dict[Key, Stored]] = {}
        self._passing: dict[Key, int] = {}
        self._recent = Window(max_changes=_RECENT_CHANGES, max_bytes=_RECENT_BYTES)
        self._pending: list[_Pending] = []
        self._is_open = False
        self._is_committing = False  # a batch is under way, or about to be taken from _pending
        self._waiting: list[asyncio.Future[None]] = []  # one a caller of wait_for_changes; in practice the tail
        self._idle: asyncio.Future[None] | None = None  # close() waits for it

    @property
    def head(self) -> int:
        return self._head

    @property
    def compacted(self) -> int:
        return self._compacted

    async def start(self) -> None:
        self._executor.start()
        try:
            recovered = await call(self._executor, self._journal.open)
        except BaseException:
            self._executor.close()
            raise
        self._head, self._compacted = recovered.head, recovered.compacted
        self._compacting = recovered.compacted
        self._recent = Window(recovered.head, max_changes=_RECENT_CHANGES, max_bytes=_RECENT_BYTES)
        self._current, self._passing = {}, {}
        for stored in recovered.current:
            self._current.setdefault(stored.key.resource, {})[stored.key] = stored
        self._is_open = True

    async def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        if self._is_committing:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        await call(self._executor, self._journal.close)
        self._executor.close()

    # Writing

    async def write(self, write: Write) -> Change:
        if not self._is_open:
            raise StorageUnavailable("the storage is closed")
        if len(self._pending) >= self._max_pending:
            raise StorageUnavailable(f"{self._max_pending} writes are waiting already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Change] = loop.create_future()
        self._pending.append((write, future))
        if not self._is_committing:
            # Not at once: whoever else is ready to write in this turn of the loop shares the commit.
            self._is_committing = True
            loop.call_soon(self._commit_pending)
        return await future

    def _commit_pending(self) -> None:
        taken, self._pending = self._pending[: self._max_batch], self._pending[self._max_batch :]
        waiting = [(write, future) for write, future in taken if not future.done()]  # done: the caller gave up
        batch = plan([write for write, _ in waiting], self._lookup, self._passing, self._head, self._compacting)
        futures = [future for _, future in waiting]
        if not batch.records:
            self._finish(batch, futures)
            return
        if not self._committed_at_once(batch, futures):
            self._executor.submit(
                lambda: self._journal.commit(batch),
                lambda _, error: self._committed(batch, futures, error),
            )

    def _committed_at_once(self, batch: Batch, futures: Sequence[asyncio.Future[Change]]) -> bool:
        """Whether the event loop could do it by itself, which is cheaper than a thread (see executor.py)."""
        if not (self._journal.is_quick and len(batch.records) <= _SMALL_BATCH and self._executor.is_free):
            return False
        try:
            self._journal.commit(batch, waits=False)
        except Busy:
            return False
        except Exception as error:
            self._committed(batch, futures, error)
        else:
            self._committed(batch, futures, None)
        return True

    def _lookup(self, key: Key) -> Stored | None:
        objects = self._current.get(key.resource)
        return objects.get(key) if objects else None

    def _committed(self, batch: Batch, futures: Sequence[asyncio.Future[Change]], error: Exception | None) -> None:
        if error is None:
            self._take_over(batch)
            self._finish(batch, futures)
            return
        for future in futures:
            if not future.done():
                # An exception each: a traceback grows in the task that raises it.
                future.set_exception(StorageUnavailable(str(error)).with_traceback(error.__traceback__))
        self._go_on()

    def _take_over(self, batch: Batch) -> None:
        for key, stored in batch.current.items():
            objects = self._current.setdefault(key.resource, {})
            if stored is None:
                objects.pop(key, None)
            else:
                objects[key] = stored
        for key, link in batch.passing.items():
            if link is not None:
                self._passing[key] = link
            else:
                self._passing.pop(key, None)
        self._recent.extend([record.change for record in batch.records])
        self._head = batch.head
        # Before the writers are: the tail then has the changes in the cache by the time a writer reads.
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _finish(self, batch: Batch, futures: Sequence[asyncio.Future[Change]]) -> None:
        for outcome, future in zip(batch.outcomes, futures, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Change):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
        self._go_on()

    def _go_on(self) -> None:
        if self._pending:
            asyncio.get_running_loop().call_soon(self._commit_pending)
            return
        self._is_committing = False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    # Reading

    async def snapshot(self) -> tuple[int, Sequence[Stored]]:
        return self._head, [stored for objects in self._current.values() for stored in objects.values()]

    async def range_at(self, resource: str, namespace: str, revision: int) -> Sequence[Stored]:
        self._check_not_compacted(revision)
        # What was changed since then is put back to what it was; the first change after `revision` knows that.
        versions: dict[Key, Stored | None] = {}
        since = revision
        if revision < self._recent.start:
            since = self._head
            versions.update(await self._read(lambda: self._journal.versions_at(resource, revision)))
            self._check_not_compacted(revision)
        for change in self._recent.after(since):
            if change.key.resource == resource:
                versions.setdefault(change.key, change.previous)
        found = {**self._current.get(resource, {}), **versions}
        return [
            stored
            for key, stored in sorted(found.items(), key=lambda item: item[0].path)
            if stored is not None and (not namespace or key.namespace == namespace)
        ]

    async def changes_after(self, revision: int, limit: int) -> Sequence[Change]:
        self._check_not_compacted(revision)
        if revision >= self._recent.start:
            return self._recent.after(revision, limit)
        changes: Sequence[Change] = await self._read(lambda: self._journal.read(revision, limit))
        self._check_not_compacted(revision)
        # The journal may have committed what this loop has not heard of yet: nobody sees it before `head` says so.
        head = self._head
        return [change for change in changes if change.revision <= head]

    async def wait_for_changes(self, after: int) -> None:
        while self._head <= after:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    async def _read(self, work: Callable[[], T]) -> T:
        if not self._is_open:
            raise StorageUnavailable("the storage is closed")
        return await call(self._executor, work)

    def _check_not_compacted(self, revision: int) -> None:
        if revision < self._compacted:
            raise Compacted(revision, self._compacted)

    # Compaction

    async def compact(self, revision: int) -> None:
        """In small steps, between which writes go on."""
        target = min(revision, self._head)
        while self._compacted < target:
            begin, end = self._compacted, min(self._compacted + self._compaction_step, target)
            self._compacting = max(self._compacting, end)
            await self._read(partial(self._journal.compact, begin, end))
            # No await before this line: a reader that the journal answers from now on has to see it.
            self._compacted = max(self._compacted, end)
            await self._let_writers_in()
        while await self._read(self._journal.trim):
            await self._let_writers_in()

    async def _let_writers_in(self) -> None:
        await asyncio.sleep(0)  # no delay, a turn of the loop: with an inline executor nothing else gives way
