"""How fast the revision log, the watch cache and the fan-out are, without HTTP: `python -m bench.storage`.

Prints creations per second through `storage.write` and `cache.fresh` (what a create request does), the cost of a change
in tail and cache, and events per second encoded for 200 watchers.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from apiserver.storage.executor import InlineExecutor
from apiserver.storage.interface import Change, Key, Storage, Value, Write, encode_body
from apiserver.storage.memory import MemoryStorage
from apiserver.storage.sqlite import SqliteStorage
from apiserver.watch.cache import WatchCache
from apiserver.watch.selection import event_type
from apiserver.watch.tail import Tail
from kubeloop.testing.virtual_time import LoopClock

BODY = encode_body({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"text": "x" * 800}})
HEAD = b'{"kind":"Pod","apiVersion":"v1",'

STORAGES: dict[str, Callable[[Path], Storage]] = {
    "memory": lambda directory: MemoryStorage(),
    "sqlite, thread": SqliteStorage,
    "sqlite, inline": lambda directory: SqliteStorage(directory, InlineExecutor()),
}


def main() -> None:
    for name, storage in STORAGES.items():
        for callers in (1, 16, 128):
            with tempfile.TemporaryDirectory() as directory:
                asyncio.run(creations(name, storage(Path(directory)), callers, 300 * callers if callers > 1 else 3000))
    asyncio.run(applied_changes(30_000))
    asyncio.run(fan_out(watchers=200, changes=2_000))


async def creations(name: str, storage: Storage, callers: int, writes: int) -> None:
    """Concurrent callers, each waiting for its own write before the next."""
    await storage.start()
    cache = WatchCache(storage)
    tail = await _followed(storage, cache)
    began, cpu = time.perf_counter(), time.process_time()

    async def caller(i: int) -> None:
        for j in range(writes // callers):
            await storage.write(_creation(f"{i}-{j}"))
            await cache.fresh()

    await asyncio.gather(*(caller(i) for i in range(callers)))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    await _cancelled(tail)
    await storage.close()
    print(f"{name:15} {callers:4} callers: {writes / seconds:8.0f} creations/s, {cpu / writes * 1e6:5.1f} us CPU each")


async def applied_changes(count: int) -> None:
    """The cache alone, 16 changes a batch, objects in no particular order."""
    storage = MemoryStorage()
    await storage.start()
    writes = (storage.write(_creation(str(i * 7919 % count))) for i in range(count))
    changes = [await write for write in writes]
    cache = WatchCache(storage)
    cache.watch("nodes", since=0)
    began = time.perf_counter()
    for begin in range(0, count, 16):
        cache.apply(changes[begin : begin + 16])
    print(f"cache: {(time.perf_counter() - began) / count * 1e6:.1f} us a change ({count} objects of one resource)")


async def fan_out(watchers: int, changes: int) -> None:
    """Every watcher turns its batches into bytes, as a handler does before it sends them."""
    storage = MemoryStorage()
    await storage.start()
    cache = WatchCache(storage)
    tail = await _followed(storage, cache)
    sent_bytes = 0

    async def handler() -> None:
        nonlocal sent_bytes
        received = 0
        with cache.watch("pods", since=0) as watcher:
            while received < changes:
                batch = await watcher.next_batch()
                sent_bytes += len(b"".join(_events(cache, batch)))
                received += len(batch)

    tasks = [asyncio.create_task(handler()) for _ in range(watchers)]
    await asyncio.sleep(0)
    began = time.perf_counter()
    for i in range(changes):
        await storage.write(_creation(str(i)))
    await asyncio.gather(*tasks)
    seconds = time.perf_counter() - began
    await _cancelled(tail)
    events = changes * watchers
    print(
        f"fan-out: {events / seconds:,.0f} events/s to {watchers} watchers one change at a time, "
        f"{seconds / events * 1e6:.2f} us an event, {sent_bytes / seconds / 1e6:.0f} MB/s"
    )


def _events(cache: WatchCache, batch: Sequence[Change]) -> list[bytes]:
    typed = ((change, event_type(change)) for change in batch)
    return [cache.events.encode(change, kind, HEAD) for change, kind in typed if kind is not None]


def _creation(name: str) -> Write:
    return Write(Key("pods", "default", name), 0, Value(BODY, {"app": "web"}, {}))


async def _followed(storage: Storage, cache: WatchCache) -> asyncio.Task[None]:
    tail = Tail(storage, cache, LoopClock())
    await tail.load()
    return asyncio.create_task(tail.run())


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    main()
