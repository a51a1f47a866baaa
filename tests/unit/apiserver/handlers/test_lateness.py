"""A server that is late on purpose, on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from typing import Any

import orjson
import pytest

from apiserver.handlers.application import Application
from apiserver.handlers.lateness import Lateness
from tests.testkit.asking import Asking, on_a_server

MAPS = "/api/v1/namespaces/default/configmaps"
MOST = 10.0  # seconds


def late(answers: float = 0.0, watches: float = 0.0) -> Lateness:
    return Lateness(random.Random(1), answers, watches)


def drawn(count: int) -> list[float]:
    """What is drawn first from that seed."""
    rng = random.Random(1)
    return [rng.uniform(0, MOST) for _ in range(count)]


def now() -> float:
    return asyncio.get_running_loop().time()


async def seconds_of(request: Awaitable[Any]) -> float:
    began = now()
    await request
    return now() - began


def a_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


class Watching:
    """A watch with bookmarks from now on, and when what arrived."""

    def __init__(self, ask: Asking, query: str = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan") -> None:
        self._app = ask.server.app
        self._query = f"watch=1&allowWatchBookmarks=true&{query}".encode()
        self.arrived: list[tuple[str, float]] = []  # names, or types where there is no name, and seconds
        self.has_ended = False
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        scope = {"type": "http", "method": "GET", "path": MAPS, "query_string": self._query, "headers": []}
        await self._app(scope, self._receive, self._send)

    async def _receive(self) -> Any:
        await asyncio.Event().wait()  # the client stays

    async def _send(self, message: Any) -> None:
        for line in message.get("body", b"").splitlines():
            event = orjson.loads(line)
            self.arrived.append((event["object"]["metadata"].get("name") or event["type"], now()))
        self.has_ended = message["type"] == "http.response.body" and not message["more_body"]

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def test_each_request_waits_for_a_time_of_its_own() -> None:
    """Reads, writes, refusals, discovery and /version wait for as long as the seed says, and no longer."""

    async def scenario(ask: Asking) -> list[float]:
        asked = [
            ask(f"GET {MAPS}"),
            ask(f"POST {MAPS}", a_map("a")),
            ask(f"GET {MAPS}/nobody"),
            ask("GET /apis"),
            ask("GET /version"),
        ]
        return [await seconds_of(request) for request in asked]

    assert pytest.approx(drawn(5)) == on_a_server(scenario, lateness=late(answers=MOST))


def test_requests_do_not_wait_for_one_another() -> None:
    """Fifty at once take as long as the one that waits longest."""

    async def scenario(ask: Asking) -> float:
        return await seconds_of(asyncio.gather(*(ask(f"GET {MAPS}") for _ in range(50))))

    assert pytest.approx(max(drawn(50))) == on_a_server(scenario, lateness=late(answers=MOST))


def test_a_request_waits_before_it_is_looked_at() -> None:
    """Until then a write has not happened: it is no answer that is held back."""

    async def scenario(ask: Asking) -> list[int]:
        await asyncio.sleep(60)  # what the server writes at its start
        seen = [ask.server.cache.count("configmaps")]
        writing = asyncio.create_task(ask(f"POST {MAPS}", a_map("a")))
        await asyncio.sleep(drawn(1)[0] - 0.001)
        seen.append(ask.server.cache.count("configmaps"))
        await writing
        return [*seen, ask.server.cache.count("configmaps")]

    before, meanwhile, after = on_a_server(scenario, lateness=late(answers=MOST))

    assert (before, before + 1) == (meanwhile, after)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/etcd", "/livez/ping", "/metrics"])
def test_health_and_metrics_are_told_at_once(path: str) -> None:
    """They are how others judge whether the server lives."""

    async def scenario(ask: Asking) -> tuple[float, int]:
        answering = asyncio.create_task(ask(f"GET {path}"))
        return await seconds_of(answering), answering.result().status

    assert (0.0, 200) == on_a_server(scenario, lateness=late(answers=MOST))


def test_events_come_late_and_in_order() -> None:
    """Each batch after a time of its own; what happens meanwhile waits behind it and comes as the next one."""
    first, second = drawn(2)

    async def scenario(ask: Asking) -> list[tuple[str, float]]:
        watching = Watching(ask)
        await asyncio.sleep(1)
        await ask(f"POST {MAPS}", a_map("a"))
        await asyncio.sleep(0.1)
        for name in ("b", "c", "d"):
            await ask(f"POST {MAPS}", a_map(name))
        await asyncio.sleep(3 * MOST)
        await watching.end()
        return watching.arrived

    arrived = on_a_server(scenario, lateness=late(watches=MOST))

    assert ["a", "b", "c", "d"] == [name for name, _ in arrived]
    together = 1 + first + second
    assert pytest.approx([1 + first, together, together, together]) == [seconds for _, seconds in arrived]


def test_initial_events_and_bookmarks_are_late_too() -> None:
    """But not the head of the answer, by which a client knows that it watches."""
    initial, end, minute = drawn(3)

    async def scenario(ask: Asking) -> list[tuple[str, float]]:
        await ask(f"POST {MAPS}", a_map("a"))
        watching = Watching(ask, "fieldSelector=metadata.name%3Da&timeoutSeconds=600")
        await asyncio.sleep(60 + 3 * MOST)
        await watching.end()
        return watching.arrived

    arrived = on_a_server(scenario, lateness=late(watches=MOST))

    assert ["a", "BOOKMARK", "BOOKMARK"] == [name for name, _ in arrived]
    began = initial + end
    assert pytest.approx([initial, began, began + 60 + minute]) == [seconds for _, seconds in arrived]


def test_no_more_waits_behind_a_late_batch_than_behind_a_slow_client() -> None:
    """One change too many and the watch is cut off, after what it had taken."""

    async def scenario(ask: Asking) -> tuple[list[str], bool]:
        ask.server.cache._watcher_changes = 3
        watching = Watching(ask)
        await asyncio.sleep(1)
        await ask(f"POST {MAPS}", a_map("a"))
        await asyncio.sleep(0.1)
        for i in range(4):
            await ask(f"POST {MAPS}", a_map(f"b-{i}"))
        await asyncio.sleep(MOST)
        return [name for name, _ in watching.arrived], watching.has_ended

    assert (["a"], True) == on_a_server(scenario, lateness=late(watches=MOST))


@pytest.mark.parametrize("lateness", [None, late()])
def test_a_server_in_time_has_nothing_of_it(lateness: Lateness | None) -> None:
    """Its application stands alone, events come at once, and nothing is drawn."""

    async def scenario(ask: Asking) -> tuple[type, list[float]]:
        watching = Watching(ask)
        await asyncio.sleep(1)
        await ask(f"POST {MAPS}", a_map("a"))
        await asyncio.sleep(1)
        await watching.end()
        return type(ask.server.app), [seconds for _, seconds in watching.arrived]

    assert (Application, [1.0]) == on_a_server(scenario, lateness=lateness)
    assert lateness is None or random.Random(1).getstate() == lateness.rng.getstate()
