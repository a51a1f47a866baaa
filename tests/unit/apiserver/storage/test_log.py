"""The revision log over a journal that can be watched and made to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from apiserver.storage.batch import Batch
from apiserver.storage.executor import Executor, InlineExecutor, ThreadExecutor
from apiserver.storage.interface import Change, Key, KeyExists, StorageUnavailable, Value, Write
from apiserver.storage.log import RevisionLog
from apiserver.storage.memory import MemoryJournal


class ObservedJournal(MemoryJournal):
    """Counts the commits and their sizes; fails while `failure` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.failure = ""
        self.sizes: list[int] = []

    def commit(self, batch: Batch) -> None:
        if self.failure:
            raise StorageUnavailable(self.failure)
        self.sizes.append(len(batch.records))
        super().commit(batch)


def a_write(name: str, expected: int | None = 0) -> Write:
    return Write(Key("pods", "default", name), expected, Value(b'"name":"web"}}', {}, {}))


async def started(
    journal: ObservedJournal, executor: Executor | None = None, max_pending: int = 100, max_batch: int = 100
) -> RevisionLog:
    log = RevisionLog(journal, executor or InlineExecutor(), max_pending=max_pending, max_batch=max_batch)
    await log.start()
    return log


async def results(log: RevisionLog, writes: Sequence[Write]) -> list[Change | BaseException]:
    return await asyncio.gather(*map(log.write, writes), return_exceptions=True)


@pytest.mark.parametrize("executor", [InlineExecutor, ThreadExecutor])
def test_concurrent_writers_share_a_commit(executor: type[InlineExecutor | ThreadExecutor]) -> None:
    """Writes that are ready in the same turn of the loop are one commit, up to max_batch of them."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal, executor(), max_batch=40)

        await results(log, [a_write(str(i)) for i in range(100)])

        await log.close()
        assert [40, 40, 20] == journal.sizes

    asyncio.run(test())


@pytest.mark.parametrize("executor", [InlineExecutor, ThreadExecutor])
def test_a_failed_commit_fails_its_batch_and_nothing_else(executor: type[InlineExecutor | ThreadExecutor]) -> None:
    """All of the batch get StorageUnavailable with the cause; later writes get the revisions that were not given."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal, executor())
        await log.write(a_write("first"))
        journal.failure = "disk full"
        failed = await results(log, [a_write(str(i)) for i in range(3)])
        head = log.head

        journal.failure = ""
        later = await log.write(a_write("0"))

        await log.close()
        assert ["disk full"] * 3 == [str(result) for result in failed if isinstance(result, StorageUnavailable)]
        assert (1, 2) == (head, later.revision)

    asyncio.run(test())


def test_a_refusal_that_rests_on_a_failed_commit_is_not_given() -> None:
    """KeyExists because of a creation in the same batch would be wrong if that batch is not stored."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal)
        journal.failure = "disk full"

        failed = await results(log, [a_write("web"), a_write("web")])

        assert [StorageUnavailable, StorageUnavailable] == [type(result) for result in failed]

    asyncio.run(test())


def test_refused_writes_commit_nothing() -> None:
    """A batch of refused writes needs no commit."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal)
        await log.write(a_write("web"))

        with pytest.raises(KeyExists):
            await log.write(a_write("web"))

        assert [1] == journal.sizes

    asyncio.run(test())


def test_a_write_beyond_the_bound_is_refused_at_once() -> None:
    """With max_pending writes waiting the next is StorageUnavailable; those that wait are stored."""

    async def test() -> None:
        log = await started(ObservedJournal(), max_pending=3)

        done = await results(log, [a_write(str(i)) for i in range(5)])

        assert [Change] * 3 + [StorageUnavailable] * 2 == [type(result) for result in done]
        assert 3 == log.head

    asyncio.run(test())


def test_followers_hear_of_a_change_before_its_writer() -> None:
    """So the watch cache has a change by the time the writer that made it reads."""

    async def test() -> None:
        log = await started(ObservedJournal())
        heard: list[str] = []

        async def follower() -> None:
            await log.wait_for_changes(0)
            heard.append("follower")

        async def writer() -> None:
            await log.write(a_write("web"))
            heard.append("writer")

        await asyncio.gather(writer(), follower())

        assert ["follower", "writer"] == heard

    asyncio.run(test())


def test_a_journal_that_cannot_be_opened_leaves_no_thread() -> None:
    """start raises what open raised, and the executor has ended."""

    class Broken(ObservedJournal):
        def open(self) -> None:  # type: ignore[override]
            raise StorageUnavailable("no such disk")

    async def test() -> None:
        executor = ThreadExecutor()
        log = RevisionLog(Broken(), executor)

        with pytest.raises(StorageUnavailable, match="no such disk"):
            await log.start()

        assert executor._thread is not None
        assert not executor._thread.is_alive()

    asyncio.run(test())
