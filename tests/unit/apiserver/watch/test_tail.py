"""The tail and storage that hiccups."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from apiserver.storage.interface import Change, Key, StorageUnavailable, Value, Write
from apiserver.storage.memory import MemoryStorage
from apiserver.watch.cache import WatchCache
from apiserver.watch.tail import Tail
from kubeloop.testing.virtual_time import LoopClock, run


class Hiccuping(MemoryStorage):
    """Cannot be read the first few times."""

    hiccups = 3

    async def changes_after(self, revision: int, limit: int) -> Sequence[Change]:
        if self.hiccups:
            self.hiccups -= 1
            raise StorageUnavailable("gone for a moment")
        return await super().changes_after(revision, limit)


def test_a_hiccup_of_storage_only_delays() -> None:
    """The tail tries again every second, misses nothing, and applies changes in order."""

    async def test() -> None:
        storage = Hiccuping()
        await storage.start()
        cache = WatchCache(storage)
        tail = Tail(storage, cache, LoopClock())
        await tail.load()
        watcher = cache.watch("pods")
        task = asyncio.ensure_future(tail.run())
        for i in range(3):
            await storage.write(Write(Key("pods", "default", str(i)), 0, Value(b'"name":"x"}}', {}, {})))

        await cache.fresh()

        assert 3.0 == asyncio.get_running_loop().time()
        assert [1, 2, 3] == [change.revision for change in await watcher.next_batch()]
        task.cancel()

    run(test())
