"""Fan-out to watchers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from apiserver.storage.interface import Change, Key, Stored
from apiserver.watch.broadcast import Broadcast, Scope, TooSlow, Watcher


def a_change(revision: int, name: str = "web", namespace: str = "default", resource: str = "pods") -> Change:
    key = Key(resource, namespace, name)
    return Change(revision, key, Stored(key, revision, b"", {}, {}), None)


def a_watcher(
    broadcast: Broadcast, resource: str = "pods", namespace: str = "", name: str = "", max_pending: int = 10
) -> Watcher:
    watcher = Watcher(broadcast, Scope(resource, namespace, name), broadcast.revision, max_pending=max_pending)
    broadcast.add(watcher)
    return watcher


def revisions(batch: Sequence[Change]) -> list[int]:
    return [change.revision for change in batch]


CHANGES = [
    a_change(1, "web", "default"),
    a_change(2, "api", "default"),
    a_change(3, "web", "other"),
    a_change(4, "web", "", "nodes"),
]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (("pods", "", ""), [1, 2, 3]),
        (("pods", "default", ""), [1, 2]),
        (("pods", "default", "web"), [1]),
        (("pods", "", "web"), [1, 3]),
        (("nodes", "", ""), [4]),
        (("nodes", "", "web"), [4]),
    ],
)
def test_a_watcher_gets_what_it_watches(scope: tuple[str, str, str], expected: list[int]) -> None:
    """By resource, namespace and name, each change once and in order, all that waits in one batch."""

    async def test() -> None:
        broadcast = Broadcast()
        watcher = a_watcher(broadcast, *scope)

        broadcast.publish(CHANGES)

        assert expected == revisions(await watcher.next_batch())
        assert expected == [change.revision for change in CHANGES if Scope(*scope).covers(change.key)]

    asyncio.run(test())


def test_a_waiting_watcher_is_woken() -> None:
    """next_batch returns with what was published while it waited; an unconcerned watcher goes on waiting."""

    async def test() -> None:
        broadcast = Broadcast()
        pods = asyncio.ensure_future(a_watcher(broadcast, "pods").next_batch())
        nodes = asyncio.ensure_future(a_watcher(broadcast, "nodes").next_batch())
        await asyncio.sleep(0)

        broadcast.publish([a_change(1), a_change(2)])
        batch = await pods

        assert [1, 2] == revisions(batch)
        assert not nodes.done()
        nodes.cancel()

    asyncio.run(test())


def test_a_slow_watcher_is_cut_off() -> None:
    """One change more than max_pending: next_batch raises TooSlow, others are not disturbed."""

    async def test() -> None:
        broadcast = Broadcast()
        slow, quick = a_watcher(broadcast, max_pending=2), a_watcher(broadcast, max_pending=5)

        broadcast.publish([a_change(1), a_change(2), a_change(3)])

        with pytest.raises(TooSlow):
            await slow.next_batch()
        assert [1, 2, 3] == revisions(await quick.next_batch())
        assert 1 == len(broadcast)

    asyncio.run(test())


def test_progress_never_passes_what_was_not_taken() -> None:
    """`revision`, which a bookmark shows, stays before pending changes, before lost ones too, and else follows all."""

    async def test() -> None:
        broadcast = Broadcast()
        watcher, other = a_watcher(broadcast, max_pending=1), a_watcher(broadcast, "nodes")
        broadcast.publish([a_change(1)])
        pending, unconcerned = watcher.revision, other.revision
        await watcher.next_batch()
        taken = watcher.revision
        broadcast.publish([a_change(2)])
        broadcast.publish([a_change(3)])
        cut_off = watcher.revision

        broadcast.publish([a_change(4)])

        assert (0, 1, 1, 1) == (pending, unconcerned, taken, cut_off)
        assert (1, 4) == (watcher.revision, other.revision)

    asyncio.run(test())


def test_an_interrupted_watcher_returns_and_goes_on() -> None:
    """interrupt makes next_batch return empty, whether it waits already or later; then it waits again."""

    async def test() -> None:
        broadcast = Broadcast()
        watcher = a_watcher(broadcast)
        waiting = asyncio.ensure_future(watcher.next_batch())
        await asyncio.sleep(0)
        watcher.interrupt()
        while_waiting = await waiting
        watcher.interrupt()
        before = await watcher.next_batch()

        broadcast.publish([a_change(1)])

        assert ([], []) == (while_waiting, before)
        assert [1] == revisions(await watcher.next_batch())

    asyncio.run(test())


def test_a_cancelled_wait_loses_nothing() -> None:
    """A timeout around next_batch that strikes as changes come leaves them for the next call."""

    async def test() -> None:
        broadcast = Broadcast()
        watcher = a_watcher(broadcast)
        waiting = asyncio.ensure_future(watcher.next_batch())
        await asyncio.sleep(0)

        broadcast.publish([a_change(1)])
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

        assert [1] == revisions(await watcher.next_batch())

    asyncio.run(test())


def test_a_closed_watcher_costs_nothing() -> None:
    """Leaving the context takes the watcher out of the index; closing twice is fine."""

    async def test() -> None:
        broadcast = Broadcast()
        with a_watcher(broadcast) as watcher:
            during = len(broadcast)

        watcher.close()
        broadcast.publish([a_change(1)])

        assert (1, 0) == (during, len(broadcast))
        assert {} == broadcast._watchers

    asyncio.run(test())


def test_watchers_are_woken_in_the_order_they_came() -> None:
    """Which keeps simulated runs repeatable."""

    async def test() -> None:
        broadcast = Broadcast()
        woken: list[int] = []

        async def waits(i: int) -> None:
            with a_watcher(broadcast) as watcher:
                await watcher.next_batch()
                woken.append(i)

        tasks = [asyncio.ensure_future(waits(i)) for i in range(20)]
        await asyncio.sleep(0)
        broadcast.publish([a_change(1)])
        await asyncio.gather(*tasks)

        assert list(range(20)) == woken

    asyncio.run(test())
