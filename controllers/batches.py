"""Many requests at once, but not too many, and not all of them where the first already fail.

slowStartBatch of pkg/controller/replicaset, v1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from kubeloop.apimachinery.errors import ApiError

# The most requests that one owner has under way: doubling goes no further.
MAX_AT_ONCE = 64


async def slow_start(count: int, attempt: Callable[[], Awaitable[object]]) -> tuple[int, Exception | None]:
    """Call `attempt` up to `count` times, in batches (1, 2, 4, …) that double while all goes well.

    A quota that refuses all of a thousand pods is thus asked once and not a thousand times. Returns how often it went
    well, and the first error of the batch that ended it. The rest was never tried.
    """
    done, size = 0, min(count, 1)
    while size:
        errors = await at_once([attempt] * size)
        done += size - len(errors)
        if errors:
            return done, errors[0]
        size = min(2 * size, count - done, MAX_AT_ONCE)
    return done, None


async def slow_start_all(attempts: Sequence[Callable[[], Awaitable[object]]]) -> tuple[int, Exception | None]:
    """The same for attempts that differ, in their order."""
    waiting = iter(attempts)
    return await slow_start(len(attempts), lambda: next(waiting)())


async def at_once(attempts: Iterable[Callable[[], Awaitable[object]]]) -> list[Exception]:
    """All of them, at most MAX_AT_ONCE under way; what went wrong, in order. One failing does not stop the others."""
    errors: list[Exception] = []
    under_way = asyncio.Semaphore(MAX_AT_ONCE)

    async def run(attempt: Callable[[], Awaitable[object]]) -> None:
        async with under_way:
            try:
                await attempt()
            except ApiError as error:
                errors.append(error)

    async with asyncio.TaskGroup() as tasks:
        for attempt in attempts:
            tasks.create_task(run(attempt))
    return errors
