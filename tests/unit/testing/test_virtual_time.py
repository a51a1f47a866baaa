"""The loop whose time jumps."""

import asyncio
import time

import pytest

from kubeloop.testing.virtual_time import EPOCH, Deadlock, LoopClock, VirtualTimeLimit, run

HOUR_SECONDS = 3600


def test_an_hour_passes_at_once() -> None:
    """Sleeping takes virtual time only, to the exact second."""

    async def nap() -> float:
        clock = LoopClock()
        await clock.sleep(HOUR_SECONDS)
        assert HOUR_SECONDS == (clock.now() - EPOCH).total_seconds()
        return clock.monotonic()

    began = time.monotonic()
    slept = run(nap())

    assert slept == HOUR_SECONDS
    assert time.monotonic() - began < HOUR_SECONDS / 30  # a busy machine takes its time, but does not sleep


def test_timers_fire_in_order() -> None:
    """Of several sleepers the earlier one wakes first, equal ones in the order they went to sleep."""
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(name)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("c", 3.0), ("a1", 1.0), ("b", 2.0), ("a2", 1.0)):
                tasks.create_task(sleeper(name, seconds))

    run(main())

    assert ["a1", "a2", "b", "c"] == woken


def test_a_deadlock_names_those_who_wait() -> None:
    """Where nothing can ever happen again, the run ends and says which task waits for what."""

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wait_for_ever(), name="the patient one")

    with pytest.raises(Deadlock, match=r"the patient one: .*wait_for_ever"):
        run(main())


def test_virtual_time_has_an_end() -> None:
    """A run that waits for something that never comes is ended at its limit."""

    async def poll() -> None:
        for _ in range(1_000_000):
            await asyncio.sleep(1)

    with pytest.raises(VirtualTimeLimit, match="60 virtual seconds are over"):
        run(poll(), limit_seconds=60)


def test_a_thread_stops_the_clock() -> None:
    """While a job runs in a thread, no virtual time passes: its result comes before any timeout."""

    async def main() -> float:
        async with asyncio.timeout(0.001):
            await asyncio.to_thread(time.sleep, 0.02)
        return LoopClock().monotonic()

    assert 0 == run(main())


def test_tasks_in_sets_keep_their_order() -> None:
    """asyncio keeps tasks in sets; they iterate in the order of creation, in every run."""

    async def main() -> list[str]:
        tasks = [asyncio.create_task(asyncio.sleep(1), name=str(i)) for i in range(50)]
        done, _ = await asyncio.wait(tasks)
        return [task.get_name() for task in done]

    assert run(main()) == run(main())
