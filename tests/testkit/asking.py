"""Requests to an API server in the same process, on virtual time: a watch of minutes is answered at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote

import orjson

from apiserver.schema.definitions import Schema
from apiserver.server import ApiServer
from apiserver.storage.memory import MemoryStorage
from kubeloop.testing import virtual_time

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; that of a watch is whole when the watch has ended."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def events(self) -> list[Any]:
        return [orjson.loads(line) for line in self.body.splitlines()]


class Asking:
    """Asks one server."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client: tuple[str, int] | None = None  # where requests come from: this process

    async def __call__(self, request: str, body: Any = None, **headers: str) -> Answer:
        """`request` is `GET /path?query`; headers are named `accept`, `if_none_match`."""
        method, _, target = request.partition(" ")
        path, _, query = target.partition("?")
        sent = {"accept": "application/json", "content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": quote(query, safe="=&%").encode(),
            "client": self.client,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        messages = [{"type": "http.request", "body": orjson.dumps(body) if body is not None else b""}]
        answered: list[Any] = []

        async def receive() -> Any:
            if not messages:
                await asyncio.Event().wait()  # the client stays
            return messages.pop()

        async def send(message: Any) -> None:
            answered.append(message)

        await self.server.app(scope, receive, send)
        head = answered[0]
        shown = {name.decode(): value.decode() for name, value in head["headers"]}
        return Answer(head["status"], shown, b"".join(message.get("body", b"") for message in answered[1:]))


@cache
def _schema() -> Schema:
    return Schema.load()


def on_a_server(scenario: Callable[[Asking], Awaitable[Outcome]], **options: Any) -> Outcome:
    """What the scenario finds out on a server of its own, where everybody may do everything. `options`: ApiServer's."""

    async def run() -> Outcome:
        server = ApiServer(MemoryStorage(), virtual_time.LoopClock(), random.Random(1), schema=_schema(), **options)
        async with server.running():
            return await scenario(Asking(server))

    return virtual_time.run(run())
