"""The watch cache behind its tail, over a memory storage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from apiserver.storage.interface import Change, Compacted, Key, Value, Write
from apiserver.storage.memory import MemoryStorage
from apiserver.watch.broadcast import TooSlow
from apiserver.watch.cache import WatchCache
from apiserver.watch.tail import Tail
from kubeloop.testing.virtual_time import LoopClock, run


def a_key(name: str = "web", namespace: str = "default", resource: str = "pods") -> Key:
    return Key(resource, namespace, name)


def put(key: Key, text: str = "") -> Write:
    return Write(key, None, Value(b'"name":"%b"}}' % text.encode(), {}, {}))


def delete(key: Key) -> Write:
    return Write(key, None, None)


class World:
    """Storage, cache and tail; `written` is how many puts to one key are there before the cache begins."""

    def __init__(self, written: int = 0, **bounds: int) -> None:
        self.storage = MemoryStorage()
        self.cache = WatchCache(self.storage, **bounds)
        self.tail = Tail(self.storage, self.cache, LoopClock())
        self._written = written

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        await self.storage.start()
        for i in range(self._written):
            await self.storage.write(put(a_key(), str(i)))
        await self.tail.load()
        task = asyncio.ensure_future(self.tail.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self.storage.close()


def live(test: Callable[[World], Awaitable[None]], written: int = 0, **bounds: int) -> None:
    async def main() -> None:
        world = World(written, **bounds)
        async with world.living():
            await test(world)

    run(main())


def revisions(batch: Sequence[Change]) -> list[int]:
    return [change.revision for change in batch]


def test_a_writer_sees_its_own_write() -> None:
    """After storage.write and fresh, get and list show the change."""

    async def test(world: World) -> None:
        for i in range(20):
            change = await world.storage.write(put(a_key(), str(i)))
            await world.cache.fresh()

            assert change.current is world.cache.get(a_key())
            assert [change.current] == world.cache.list("pods", "default")

        await world.storage.write(delete(a_key()))
        await world.cache.fresh()
        assert world.cache.get(a_key()) is None
        assert [] == world.cache.list("pods")

    live(test)


def test_every_reader_sees_what_was_acknowledged_to_another() -> None:
    """fresh waits for the head of the log, however many writers there are."""

    async def test(world: World) -> None:
        async def writer(i: int) -> None:
            for j in range(20):
                change = await world.storage.write(put(a_key(f"{i}-{j}")))
                await world.cache.fresh()
                assert world.cache.revision >= change.revision

        await asyncio.gather(*(writer(i) for i in range(10)))

        assert 200 == world.cache.count("pods")

    live(test)


def test_a_fresh_cache_costs_no_task_switch() -> None:
    """Where the cache has the head already, fresh returns without giving way."""

    async def test(world: World) -> None:
        await world.storage.write(put(a_key()))
        await world.cache.fresh()

        with pytest.raises(StopIteration):
            world.cache.fresh().send(None)

    live(test)


def test_waiting_for_a_revision_ends_with_it_or_with_the_time() -> None:
    """wait_for says whether the revision came; it returns as soon as it does."""

    async def test(world: World) -> None:
        waiting = asyncio.ensure_future(world.cache.wait_for(2, 60))
        never = await world.cache.wait_for(2, 0.5)
        await world.storage.write(put(a_key("a")))
        await world.storage.write(put(a_key("b")))
        before = asyncio.get_running_loop().time()

        assert (False, True, True) == (never, await waiting, await world.cache.wait_for(1, 0))
        assert before == asyncio.get_running_loop().time()

    live(test)


def test_what_was_there_before_is_loaded() -> None:
    """The cache begins with a snapshot at the head."""

    async def test(world: World) -> None:
        assert (3, 1) == (world.cache.revision, world.cache.count("pods"))
        assert ["pods"] == world.cache.resources()

    live(test, written=3)


def test_a_resource_without_objects_is_not_named() -> None:
    """resources() are those with at least one object."""

    async def test(world: World) -> None:
        await world.storage.write(put(a_key(resource="secrets")))
        await world.storage.write(put(a_key()))
        await world.storage.write(delete(a_key(resource="secrets")))
        await world.cache.fresh()

        assert ["pods"] == world.cache.resources()
        assert 0 == world.cache.count("secrets")

    live(test)


def test_a_list_as_of_before_is_what_was_listed_then() -> None:
    """list_at(r) equals the list at r, from the window and, where that does not reach back, from storage."""

    async def test(world: World) -> None:
        lists = {}
        for i in range(30):
            key = a_key(str(i % 7), f"ns{i % 2}")
            await world.storage.write(delete(key) if world.cache.get(key) and i % 3 == 0 else put(key, str(i)))
            await world.cache.fresh()
            lists[world.cache.revision] = world.cache.list("pods"), world.cache.list("pods", "ns1")

        for revision, (everywhere, in_namespace) in lists.items():
            assert everywhere == await world.cache.list_at("pods", "", revision)
            assert in_namespace == await world.cache.list_at("pods", "ns1", revision)

    live(test, written=2, window_changes=10)


def test_a_watch_from_now_sees_what_comes() -> None:
    """Without `since`, only what is written afterwards."""

    async def test(world: World) -> None:
        watcher = world.cache.watch("pods")
        await world.storage.write(put(a_key(), "new"))

        assert [4] == revisions(await watcher.next_batch())

    live(test, written=3)


@pytest.mark.parametrize("window_changes", [100, 4])
def test_a_watch_resumes_without_gaps(window_changes: int) -> None:
    """From an older revision everything after it comes, once and in order: from the window, or from storage."""

    async def test(world: World) -> None:
        for i in range(10):
            await world.storage.write(put(a_key(), str(i)))
        await world.cache.fresh()
        watcher = world.cache.watch("pods", since=2)
        await world.storage.write(put(a_key("api"), "live"))
        seen: list[int] = []

        while len(seen) < 14:
            seen += revisions(await watcher.next_batch())
        await world.storage.write(put(a_key(), "last"))

        assert list(range(3, 17)) == seen
        assert [17] == revisions(await watcher.next_batch())

    live(test, written=5, window_changes=window_changes)


def test_a_resumed_watch_sees_only_what_it_watches() -> None:
    """Scope holds for missed changes as for live ones."""

    async def test(world: World) -> None:
        for name in ("a", "b", "a"):
            await world.storage.write(put(a_key(name)))
        await world.cache.fresh()

        by_name = world.cache.watch("pods", "default", "a", since=2)
        elsewhere = world.cache.watch("pods", "other", since=0)
        await world.storage.write(put(a_key("x", "other")))

        assert [3, 5] == revisions(await by_name.next_batch())
        assert [6] == revisions(await elsewhere.next_batch())

    live(test, written=2)


def test_a_watch_from_a_compacted_revision_is_refused() -> None:
    """Compacted, where neither the window nor the log reaches back; from the compaction point on it works."""

    async def test(world: World) -> None:
        await world.storage.compact(3)

        with pytest.raises(Compacted):
            world.cache.watch("pods", since=2)
        watcher = world.cache.watch("pods", since=3)
        assert [4, 5] == revisions(await watcher.next_batch())

    live(test, written=5)


def test_a_watch_that_is_overtaken_by_compaction_is_told() -> None:
    """Compaction between watch and the first batch raises Compacted there, never skips changes."""

    async def test(world: World) -> None:
        watcher = world.cache.watch("pods", since=2)
        await world.storage.compact(4)

        with pytest.raises(Compacted):
            await watcher.next_batch()

    live(test, written=5)


def test_a_watch_from_the_future_hides_what_comes_before() -> None:
    """Changes up to `since` are not shown, those after it are."""

    async def test(world: World) -> None:
        watcher = world.cache.watch("pods", since=2)
        for i in range(3):
            await world.storage.write(put(a_key(), str(i)))

        assert [3] == revisions(await watcher.next_batch())

    live(test)


def test_what_was_missed_does_not_make_a_watcher_slow() -> None:
    """A watcher may begin with more than it may have pending later."""

    async def test(world: World) -> None:
        for i in range(20):
            await world.storage.write(put(a_key(), str(i)))
        await world.cache.fresh()
        watcher = world.cache.watch("pods", since=0)
        await world.storage.write(put(a_key(), "live"))
        first = await watcher.next_batch()
        for i in range(6):
            await world.storage.write(put(a_key(), str(i)))

        assert list(range(1, 22)) == revisions(first)
        with pytest.raises(TooSlow):
            await watcher.next_batch()

    live(test, watcher_changes=5)


def test_a_compacted_tail_begins_anew_and_cuts_watchers_off() -> None:
    """A cache that fell behind the log's compaction is loaded again; whoever watched has to list again."""

    async def test() -> None:
        world = World()
        await world.storage.start()
        await world.tail.load()
        watcher = world.cache.watch("pods")
        for i in range(5):
            await world.storage.write(put(a_key(str(i))))
        await world.storage.compact(3)

        task = asyncio.ensure_future(world.tail.run())
        await world.cache.fresh()

        assert (5, 5) == (world.cache.revision, world.cache.count("pods"))
        assert 0 == watcher.revision
        with pytest.raises(TooSlow):
            await watcher.next_batch()
        task.cancel()

    run(test())
