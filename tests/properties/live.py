"""A server in this process that synchronous tests can talk to, for properties that need one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import httpx
from hypothesis import Phase, settings

from apiserver.schema.definitions import Schema
from apiserver.server import ApiServer
from apiserver.storage.interface import Storage
from kubeloop.clock import SystemClock
from kubeloop.testing.transport import InProcessTransport

Object = dict[str, Any]
Result = TypeVar("Result")
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


def tried(times: int) -> settings:
    """So many examples, the first that fails told as it is: making it smaller takes minutes of calls."""
    return settings(max_examples=times, phases=(Phase.explicit, Phase.generate))


class Refused(AssertionError):
    """A Status where something else was expected."""

    def __init__(self, status: Object) -> None:
        super().__init__(status.get("message"))
        self.status = status

    @property
    def code(self) -> int:
        return int(self.status["code"])


class Live:
    """One server after the other over a storage each; between calls nothing runs."""

    def __init__(self, storage: Callable[[], Storage]) -> None:
        self._storage = storage
        self._runner = asyncio.Runner()
        self._client: httpx.AsyncClient | None = None
        self._serving: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(work)

    async def start(self) -> None:
        ready: asyncio.Future[InProcessTransport] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self.storage = self._storage()
        self._serving = asyncio.get_running_loop().create_task(self._serve(ready))
        await asyncio.wait([ready, self._serving], return_when=asyncio.FIRST_COMPLETED)
        self._client = httpx.AsyncClient(transport=ready.result(), base_url="http://localhost")

    async def stop(self) -> None:
        """Watches end, the storage is closed."""
        assert self._client is not None and self._serving is not None
        self._stop.set()
        await self._serving
        await self._client.aclose()

    async def _serve(self, ready: asyncio.Future[InProcessTransport]) -> None:
        server = ApiServer(self.storage, SystemClock(), random.Random(1), schema=_schema())
        async with server.running():
            ready.set_result(InProcessTransport(server.app))
            await self._stop.wait()
            server.end_watches()

    async def call(self, method: str, path: str, body: Any = None, media_type: str = "application/json") -> Any:
        """The answer's value. Raises Refused."""
        assert self._client is not None
        content = b"" if body is None else json.dumps(body)
        headers = {"Content-Type": media_type} if content else {}
        answer = await self._client.request(method, path, content=content, headers=headers)
        value = answer.json()
        if answer.status_code >= 400:
            raise Refused(value)
        return value

    async def watch(self, path: str, accept: str = "application/json") -> Watch:
        """Returns once the server has begun to answer."""
        assert self._client is not None
        request = self._client.build_request("GET", path, headers={"Accept": accept})
        return Watch(await self._client.send(request, stream=True))


class Watch:
    """The events of one watch."""

    def __init__(self, answer: httpx.Response) -> None:
        self._answer = answer
        self._lines = answer.aiter_lines()

    async def until(self, is_last: Callable[[Object], bool]) -> list[Object]:
        """Events up to the first for which that holds, or to the end of the watch."""
        if self._answer.status_code >= 400:
            await self._answer.aread()
            raise Refused(self._answer.json())
        events: list[Object] = []
        async for line in self._lines:
            events.append(json.loads(line))
            if is_last(events[-1]):
                break
        await self._answer.aclose()
        return events


@contextmanager
def live(storage: Callable[[], Storage]) -> Iterator[Live]:
    """A started server, stopped in the end."""
    server = Live(storage)
    server.run(server.start())
    try:
        yield server
    finally:
        server.run(server.stop())
        server._runner.close()


@cache
def _schema() -> Schema:
    return Schema.load("1.36")
