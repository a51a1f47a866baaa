"""What is compacted when, on virtual time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from apiserver.storage.compaction import Compactor
from apiserver.storage.interface import Key, StorageUnavailable, Value, Write
from apiserver.storage.memory import MemoryStorage
from kubeloop.testing.virtual_time import LoopClock, run


async def write(storage: MemoryStorage, count: int) -> None:
    for _ in range(count):
        await storage.write(Write(Key("pods", "default", "web"), None, Value(b'"name":"web"}}', {}, {})))


async def compacted_after(storage: MemoryStorage, seconds: float, max_changes: int = 1000) -> int:
    compactor = Compactor(storage, LoopClock(), history_seconds=300, max_changes=max_changes, period_seconds=30)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await compactor.run()
    return storage.compacted


def test_changes_go_when_they_are_old_enough() -> None:
    """After five minutes, and not before, the changes that were there at the beginning are compacted."""

    async def test(seconds: float) -> int:
        storage = MemoryStorage()
        await storage.start()
        await write(storage, 10)
        return await compacted_after(storage, seconds)

    assert (0, 10) == (run(test(295)), run(test(305)))


def test_newer_changes_stay() -> None:
    """What was written four minutes later has to become old itself."""

    async def test() -> int:
        storage = MemoryStorage()
        await storage.start()
        await write(storage, 10)
        async with asyncio.TaskGroup() as group:
            compacted = group.create_task(compacted_after(storage, 310))
            await asyncio.sleep(240)
            await write(storage, 5)
        return compacted.result()

    assert 10 == run(test())


def test_too_many_changes_go_however_new() -> None:
    """The log keeps the newest max_changes revisions."""

    async def test() -> int:
        storage = MemoryStorage()
        await storage.start()
        await write(storage, 25)
        return await compacted_after(storage, 35, max_changes=20)

    assert 5 == run(test())


def test_it_goes_on_after_a_failure() -> None:
    """Storage that is unavailable for a while is compacted later."""

    class Failing(MemoryStorage):
        failures = 2

        async def compact(self, revision: int) -> None:
            if self.failures:
                self.failures -= 1
                raise StorageUnavailable("disk full")
            await super().compact(revision)

    async def test() -> int:
        storage = Failing()
        await storage.start()
        await write(storage, 25)
        return await compacted_after(storage, 95, max_changes=20)

    assert 5 == run(test())
