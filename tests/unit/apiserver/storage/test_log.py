"""The revision log over a journal that can be watched and made to fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from apiserver.storage.batch import Batch
from apiserver.storage.executor import Executor, InlineExecutor, ThreadExecutor
from apiserver.storage.interface import Change, Key, KeyExists, StorageUnavailable, Value, Write
from apiserver.storage.journal import Busy
from apiserver.storage.log import RevisionLog
from apiserver.storage.memory import MemoryJournal


class ObservedJournal(MemoryJournal):
    """Remembers the sizes of commits and the threads they ran in; fails while `failure` is set, or held by another."""

    def __init__(self) -> None:
        super().__init__()
        self.failure = ""
        self.is_held = False
        self.sizes: list[int] = []
        self.in_loop: list[bool] = []

    def commit(self, batch: Batch, *, waits: bool = True) -> None:
        if self.failure:
            raise StorageUnavailable(self.failure)
        if self.is_held and not waits:
            raise Busy("held by another program")
        self.sizes.append(len(batch.records))
        self.in_loop.append(threading.current_thread() is threading.main_thread())
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


def test_the_event_loop_commits_what_is_small() -> None:
    """A quick journal's small batch needs no other thread; a large one is handed to it."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal, ThreadExecutor(), max_pending=1_000, max_batch=1_000)

        await results(log, [a_write(f"a-{i}") for i in range(10)])
        await results(log, [a_write(f"b-{i}") for i in range(500)])

        await log.close()
        assert [10, 500] == journal.sizes
        assert [True, False] == journal.in_loop

    asyncio.run(test())


def test_a_commit_waits_its_turn_behind_what_is_under_way() -> None:
    """While the thread works for others, even a small batch is handed to it: the journal does one thing at a time."""

    async def test() -> None:
        journal, executor = ObservedJournal(), ThreadExecutor()
        log = await started(journal, executor)
        may_end = threading.Event()
        executor.submit(may_end.wait, lambda *_: None)

        writing = asyncio.create_task(log.write(a_write("web")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not journal.sizes
        may_end.set()
        await writing

        await log.close()
        assert [False] == journal.in_loop

    asyncio.run(test())


def test_the_event_loop_waits_for_no_other_program() -> None:
    """A store that another program holds is waited for in the thread, and the write succeeds there."""

    async def test() -> None:
        journal = ObservedJournal()
        log = await started(journal, ThreadExecutor())
        journal.is_held = True

        written = await log.write(a_write("web"))

        await log.close()
        assert written.revision == 1
        assert [False] == journal.in_loop

    asyncio.run(test())
