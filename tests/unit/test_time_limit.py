"""How long a request may take, with one timer for all of them."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.client.api import REQUEST_TIMEOUT_SECONDS, Api
from kubeloop.client.transport import ConnectionFailed
from kubeloop.testing.virtual_time import run
from kubeloop.time_limit import TimeLimit
from tests.testkit.scripted import Script, json_answer


async def take(limit: TimeLimit, seconds: float) -> str:
    piece = limit.begin()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if not limit.has_ended(piece):
            raise
        return f"ended at {asyncio.get_running_loop().time():g}"
    finally:
        limit.end(piece)
    return "done"


def test_what_is_overdue_is_ended_at_its_own_time() -> None:
    """Pieces that began at different times end when each is overdue; those that are in time are left alone."""

    async def main() -> list[str]:
        limit = TimeLimit(10)
        tasks = []
        for seconds in (30, 9, 30, 1):
            tasks.append(asyncio.create_task(take(limit, seconds)))
            await asyncio.sleep(3)
        return await asyncio.gather(*tasks)

    assert ["ended at 10", "done", "ended at 16", "done"] == run(main())


def test_thousands_of_pieces_set_one_timer() -> None:
    """While the oldest of them is not overdue, none is set for those that follow."""

    async def main() -> int:
        limit, loop, timers = TimeLimit(10), asyncio.get_running_loop(), 0
        call_at = loop.call_at

        def counted(*arguments: object, **options: object) -> asyncio.TimerHandle:
            nonlocal timers
            timers += 1
            return call_at(*arguments, **options)  # type: ignore[arg-type]

        loop.call_at = counted  # type: ignore[method-assign, assignment]
        for _ in range(1000):
            limit.end(limit.begin())
        return timers

    assert 1 == run(main())


def test_who_is_cancelled_by_somebody_else_is_cancelled() -> None:
    """Also where the limit is reached in the same moment."""

    async def main() -> list[bool]:
        limit = TimeLimit(10)
        early, late = (asyncio.create_task(take(limit, 30)) for _ in range(2))
        for task, seconds in ((early, 5), (late, 10)):
            asyncio.get_running_loop().call_later(seconds, task.cancel)
        await asyncio.wait([early, late])
        return [early.cancelled(), late.cancelled()]

    assert [True, True] == run(main())


def test_a_limit_serves_one_loop_after_the_other() -> None:
    """A timer that went with its loop is not waited for."""
    limit = TimeLimit(10)

    assert ["done", "ended at 10"] == [run(take(limit, 1)), run(take(limit, 20))]


def test_a_request_without_an_answer_fails() -> None:
    """After a minute, and says which it was; the next one has a minute of its own."""

    async def main() -> list[float]:
        api, times = Api("http://x", Script([json_answer({})])), []
        await api.request("GET", "/a")
        for path in ("/b", "/c"):
            with pytest.raises(ConnectionFailed, match=f"GET {path}: no answer in 60 seconds"):
                await api.request("GET", path)
            times.append(asyncio.get_running_loop().time())
        return times

    assert [REQUEST_TIMEOUT_SECONDS, 2 * REQUEST_TIMEOUT_SECONDS] == run(main())
