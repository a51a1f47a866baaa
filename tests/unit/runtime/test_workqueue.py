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
