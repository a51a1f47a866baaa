"""The three layers of the workqueue, on virtual time."""

import asyncio

import pytest

from kubeloop.runtime.workqueue import DelayingQueue, Queue, RateLimitedQueue, ShutDown
from kubeloop.testing.virtual_time import LoopClock, run


def test_equal_keys_are_one() -> None:
    """A key added three times before a worker comes is handed out once."""

    async def main() -> int:
        queue: Queue[str] = Queue(LoopClock())
        for _ in range(3):
            queue.add("a")
        queue.done(await queue.get())
        return len(queue)

    assert 0 == run(main())


def test_a_key_added_while_it_is_worked_on_comes_again() -> None:
    """It waits until the worker is done with it, then is handed out once more: never twice at once, never lost."""

    async def main() -> tuple[int, str]:
        queue: Queue[str] = Queue(LoopClock())
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.add("a")
        waiting_meanwhile = len(queue)
        queue.done(key)
        return waiting_meanwhile, await queue.get()

    assert (0, "a") == run(main())


def test_keys_come_in_order() -> None:
    """First in, first out; adding again does not move a key to the back."""

    async def main() -> list[str]:
        queue: Queue[str] = Queue(LoopClock())
        for key in ("a", "b", "a", "c"):
            queue.add(key)
        return [await queue.get() for _ in range(3)]

    assert ["a", "b", "c"] == run(main())


def test_a_cancelled_worker_passes_its_wake_up_on() -> None:
    """A key that woke a worker in the moment of its cancellation is taken by another."""

    async def main() -> str:
        queue: Queue[str] = Queue(LoopClock())
        first = asyncio.create_task(queue.get())
        second = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        return await second

    assert "a" == run(main())


def test_shutting_down_ends_the_workers() -> None:
    """Workers that wait are told; keys that wait are dropped; keys under way can be waited for."""

    async def main() -> None:
        queue: Queue[str] = Queue(LoopClock())
        queue.add("under way")
        key = await queue.get()
        queue.add("waiting")
        finished = asyncio.create_task(queue.wait_until_nothing_runs())

        queue.shut_down()
        with pytest.raises(ShutDown):
            await queue.get()

        assert not finished.done()
        queue.done(key)
        await finished

    run(main())


def test_of_two_delays_the_earlier_counts() -> None:
    """A key delayed twice arrives once, at the earlier time, whichever was said first."""

    async def main() -> list[tuple[str, float]]:
        clock = LoopClock()
        queue: DelayingQueue[str] = DelayingQueue(clock)
        arrivals = []
        async with asyncio.TaskGroup() as tasks:
            runner = tasks.create_task(queue.run())
            await clock.sleep(0)
            for key, seconds in (("a", 60), ("a", 5), ("b", 10), ("b", 100), ("c", 0)):
                queue.add_after(key, seconds)
            for _ in range(3):
                key = await queue.get()
                arrivals.append((key, clock.monotonic()))
                queue.done(key)
            await clock.sleep(1000)
            assert queue.is_idle
            runner.cancel()
        return arrivals

    assert [("c", 0), ("a", 5), ("b", 10)] == run(main())


def test_backoff_doubles_and_is_forgotten() -> None:
    """5 ms, 10 ms, 20 ms … 1000 s for a key that keeps failing; after a success it starts at 5 ms."""

    async def main() -> list[float]:
        clock = LoopClock()
        queue: RateLimitedQueue[str] = RateLimitedQueue(clock)
        waits = []
        async with asyncio.TaskGroup() as tasks:
            runner = tasks.create_task(queue.run())
            for failure in range(22):
                if failure == 20:
                    queue.forget("a")
                began = clock.monotonic()
                queue.add_rate_limited("a")
                queue.done(await queue.get())
                waits.append(round(clock.monotonic() - began, 3))
            runner.cancel()
        return waits

    waits = run(main())

    assert [0.005, 0.01, 0.02, 0.04] == waits[:4]
    assert [655.36, 1000, 1000, 0.005, 0.01] == waits[17:]


def order_of(*additions: tuple[str, int]) -> str:
    """The keys (a letter each) in the order in which a worker gets them."""

    async def main() -> str:
        queue: Queue[str] = Queue(LoopClock())
        for key, priority in additions:
            queue.add(key, priority)
        keys = ""
        while len(queue):
            keys += await queue.get()
        return keys

    return run(main())


def test_the_highest_priority_comes_first() -> None:
    """Above 0, then 0, then below; of one priority what came first."""
    assert "xyabpq" == order_of(("p", -100), ("a", 0), ("x", 5), ("q", -100), ("b", 0), ("y", 5))


def test_a_key_that_waits_is_only_ever_raised() -> None:
    """Added again with a higher priority it goes there, at the end; with a lower one it stays, and is never doubled."""
    assert "ap" == order_of(("p", -100), ("a", 0), ("a", -100))
    assert "apq" == order_of(("p", -100), ("q", -100), ("a", 0), ("p", 0))
    assert "ba" == order_of(("a", 0), ("b", 0), ("b", 3))
    assert "pq" == order_of(("p", -100), ("q", -100), ("p", -100))


def test_a_key_that_is_worked_on_comes_again_with_its_new_priority() -> None:
    """What counts is the priority of the additions since the worker got it, not the one it had."""

    async def main() -> list[tuple[str, int]]:
        queue: Queue[str] = Queue(LoopClock())
        queue.add("a", 7)
        held = [(await queue.get(), queue.priority_of("a"))]
        queue.add("b")
        queue.add("a", -5)
        queue.add("a", -100)
        queue.done("a")
        held += [(key := await queue.get(), queue.priority_of(key)) for _ in range(2)]
        queue.done("a")
        assert 0 == len(queue) == queue.priority_of("a")
        return held

    assert [("a", 7), ("b", 0), ("a", -5)] == run(main())


def test_a_delayed_key_keeps_its_highest_priority() -> None:
    """Of two delays the earlier moment counts, and the higher priority, whichever said it."""

    async def main() -> list[str]:
        clock = LoopClock()
        queue: DelayingQueue[str] = DelayingQueue(clock)
        async with asyncio.TaskGroup() as tasks:
            runner = tasks.create_task(queue.run())
            delays = (("low", 1, -1), ("c", 1, 0), ("a", 9, 2), ("a", 1, 0), ("b", 1, 0), ("b", 9, 3))
            for key, seconds, priority in delays:
                queue.add_after(key, seconds, priority)
            await clock.sleep(2)
            keys = [await queue.get() for _ in range(4)]
            runner.cancel()
        return keys

    assert ["b", "a", "c", "low"] == run(main())


def test_a_key_delayed_ever_earlier_leaves_no_heap_of_entries() -> None:
    """The memory of a queue is bounded by its keys, however often they are delayed anew."""

    async def main() -> int:
        queue: DelayingQueue[str] = DelayingQueue(LoopClock())
        for seconds in range(10_000, 1, -1):
            queue.add_after("a", seconds)
        return len(queue._heap)

    assert 100 > run(main())
