"""How many requests are carried out at once."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from apiserver.auth.authentication import TokenFile, User
from apiserver.handlers.limits import InFlightLimits, Overloaded
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.testing import virtual_time

ALICE = User("alice", groups=("devs",))
ADMIN = User("admin", groups=("system:masters",))


@pytest.mark.parametrize(("verb", "other"), [("get", "create"), ("list", "delete"), ("patch", "list")])
def test_reads_and_writes_are_counted_apart(verb: str, other: str) -> None:
    """With as many of one sort as there may be, those of the other sort still find a place."""
    limits = InFlightLimits(1, 1)

    with limits.slot(verb, ALICE):
        with pytest.raises(Overloaded):
            limits.slot(verb, ALICE)
        with limits.slot(other, ALICE):
            assert (1, 1) == (limits.reads.taken, limits.writes.taken)

    with limits.slot(verb, ALICE):
        assert 1 == limits.reads.taken + limits.writes.taken


def test_a_place_is_free_again_after_a_failure() -> None:
    """Whatever becomes of the request."""
    limits = InFlightLimits(1, 1)

    with pytest.raises(ValueError), limits.slot("create", ALICE):
        raise ValueError

    assert limits.writes.are_free


def test_administrators_are_never_turned_away() -> None:
    """They take a place where there is one, and go on without where there is none."""
    limits = InFlightLimits(1, 1)

    with limits.slot("create", ADMIN), limits.slot("create", ADMIN):
        assert 1 == limits.writes.taken
        with pytest.raises(Overloaded):
            limits.slot("create", ALICE)


def test_watches_take_no_place() -> None:
    """They last, and would fill them all."""
    limits = InFlightLimits(1, 1)

    with limits.slot("watch", ALICE), limits.slot("watch", ALICE):
        assert limits.reads.are_free


def test_zero_is_no_limit() -> None:
    """As upstream."""
    limits = InFlightLimits(0, 0)

    with limits.slot("create", ALICE), limits.slot("create", ALICE):
        assert limits.writes.are_free


def test_who_is_turned_away_is_told_when_to_come_again() -> None:
    """429 as plain text with Retry-After, before the body is read; the place is free when the first one ends."""

    async def check() -> list[int]:
        clock = virtual_time.LoopClock()
        server = ApiServer(
            MemoryStorage(),
            clock,
            random.Random(1),
            token_sources=[TokenFile.parse("t,alice,u")],
            authorization_modes=["AlwaysAllow"],
            limits=InFlightLimits(1, 1),
        )
        async with server.running():
            first = Exchange(server)
            under_way = asyncio.create_task(first.run())
            await clock.sleep(1)
            second = Exchange(server)
            await second.run()
            assert (b"retry-after", b"1") in second.headers
            assert b"Too many requests, please try again later.\n" == second.body
            first.go_on.set()
            await under_way
            third = Exchange(server)
            third.go_on.set()
            await third.run()
        return [first.status, second.status, third.status]

    assert [201, 429, 201] == virtual_time.run(check())


class Exchange:
    """A POST whose body comes when `go_on` is set."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.go_on = asyncio.Event()
        self.status, self.headers, self.body = 0, [], b""

    async def run(self) -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/namespaces/default/configmaps",
            "query_string": b"",
            "headers": [(b"authorization", b"Bearer t"), (b"content-type", b"application/json")],
        }
        await self._server.app(scope, self._receive, self._send)

    async def _receive(self) -> Any:
        await self.go_on.wait()
        return {"type": "http.request", "body": b'{"metadata":{"generateName":"x-"}}'}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message["headers"]
        else:
            self.body += message["body"]
