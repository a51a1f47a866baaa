"""How long a request may take."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from apiserver.handlers.deadlines import Deadlines, Times, seconds_of
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.apimachinery.errors import BadRequest, Timeout
from kubeloop.testing import virtual_time

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("verb", "timeout", "expected"),
    [
        ("create", "", 60),
        ("create", "5s", 5),
        ("create", "2m", 60),
        ("create", "0s", 60),
        ("get", "", None),
        ("list", "10s", 10),
        ("watch", "nonsense", None),
    ],
)
def test_whose_word_counts(verb: str, timeout: str, expected: float | None) -> None:
    """The client's where it is shorter; reads have no time of their own, watches none at all."""
    assert expected == seconds_of(verb, "", {"timeout": [timeout]}, 60)


def test_a_time_that_is_none_is_refused() -> None:
    """With Go's reason."""
    with pytest.raises(BadRequest) as refused:
        seconds_of("get", "", {"timeout": ["soon"]}, 60)

    expected = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
    assert expected == refused.value.message


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """504 when the time is over; the place among the requests under way is free again."""

    async def ask() -> tuple[float, int, Any]:
        clock = virtual_time.LoopClock()
        server = ApiServer(MemoryStorage(), clock, random.Random(1), times=Times(request_seconds=20))
        messages: list[Any] = []

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            messages.append(message)

        async with server.running():
            scope = {"type": "http", "method": "POST", "path": MAPS, "query_string": b"", "headers": []}
            began = clock.monotonic()
            await server.app(scope, receive, send)
            return clock.monotonic() - began, messages[0]["status"], json.loads(messages[1]["body"])

    seconds, status, body = virtual_time.run(ask())

    assert (20, 504, "Timeout") == (seconds, status, body["reason"])
    expected = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    assert expected == body["message"]


def test_requests_share_a_timer_and_each_has_its_time() -> None:
    """Whoever came earlier runs out of it earlier, whether others came between and left, or came when all had left."""

    async def ask() -> list[tuple[float, str]]:
        deadlines, clock = Deadlines(20), virtual_time.LoopClock()
        outcomes: list[tuple[float, str]] = []

        async def request(begin: float, lasts: float) -> None:
            await clock.sleep(begin)
            try:
                await deadlines.within(20, clock.sleep(lasts))
                outcomes.append((clock.monotonic(), "done"))
            except Timeout:
                outcomes.append((clock.monotonic(), "late"))

        async with asyncio.TaskGroup() as group:
            for begin, lasts in ((0, 30), (3, 5), (7, 20), (7, 19), (9, 30), (100, 30), (101, 1)):
                group.create_task(request(begin, lasts))
        return outcomes

    outcomes = virtual_time.run(ask())

    assert [(8, "done"), (20, "late"), (26, "done")] == outcomes[:3]
    assert [(29, "late"), (102, "done"), (120, "late")] == outcomes[4:]
    assert outcomes[3][0] == 27  # done and late at once: either is as good


def test_a_request_that_others_end_is_not_late() -> None:
    """A cancellation, or a TimeoutError of its own, is what it is; nothing is left to wait for then."""

    outcomes: list[object] = []

    async def ask() -> None:
        deadlines, clock = Deadlines(20), virtual_time.LoopClock()

        async def fails() -> None:
            raise TimeoutError("of its own")

        outcomes.extend(
            await asyncio.gather(
                asyncio.wait_for(deadlines.within(20, clock.sleep(10)), 5),
                deadlines.within(20, fails()),
                return_exceptions=True,
            )
        )
        await asyncio.Event().wait()

    with pytest.raises(virtual_time.Deadlock):  # nothing else is to come
        virtual_time.run(ask())
    assert ["TimeoutError()", "TimeoutError('of its own')"] == [repr(outcome) for outcome in outcomes]
