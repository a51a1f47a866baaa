"""Answers of other servers on their way to the client, for as long as both ends and this server like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from apiserver.handlers.bodies import HungUp
from apiserver.handlers.hops import end_to_end
from apiserver.handlers.response import NOT_KEPT, Receive, Response, Send
from apiserver.outgoing.errors import CallError
from kubeloop.apimachinery.errors import ApiError

_WITHOUT_BODY = (204, 304)

E = TypeVar("E", bound=Exception)


class Exchange:
    """The answer on its way to the client."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.has_begun = self._has_ended = False

    async def refuse(self, response: Response) -> None:
        self.has_begun = self._has_ended = True
        await response.send(self.send)

    async def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        kept = end_to_end(headers)
        if status in _WITHOUT_BODY:  # a length would be that of what is not sent
            kept = [(name, value) for name, value in kept if name != b"content-length"]
        if all(name != NOT_KEPT[0] for name, _ in kept):
            kept.append(NOT_KEPT)
        self.has_begun = True
        await self.send({"type": "http.response.start", "status": status, "headers": kept})

    async def go_on(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        if self.has_begun and not self._has_ended:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})


class Upload:
    """The body of a request on its way to another server, at its client's pace: nothing of it is kept.

    `is_expected`: it has a length, or comes in chunks.
    """

    def __init__(self, receive: Receive, headers: Iterable[tuple[bytes, bytes]]) -> None:
        sent = dict(headers)
        self.is_expected = sent.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in sent
        self._receive, self._is_through = receive, asyncio.Event()
        if not self.is_expected:
            self.end()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises HungUp where the client goes before the body is whole."""
        is_whole = False
        while not is_whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            is_whole = not message.get("more_body", False)
            if message.get("body"):
                yield message["body"]
        self.end()

    def end(self) -> None:
        """Nobody takes any more of it."""
        self._is_through.set()

    async def receive(self) -> Any:
        """For who waits for the client to go: what comes after the body."""
        await self._is_through.wait()
        return await self._receive()


@asynccontextmanager
async def exchanged(
    send: Send, receive: Receive, stopping: asyncio.Event, unreachable: Callable[[CallError], ApiError]
) -> AsyncIterator[Exchange]:
    """An exchange for as long as the client listens and this server runs; what has begun is ended.

    Raises ApiError and, before anything was sent, HungUp. `unreachable` words a backend that cannot be asked; one that
    falls silent later ends the answer.
    """
    exchange = Exchange(send)
    try:
        async with asyncio.TaskGroup() as tasks:
            ends = [tasks.create_task(hang_up(receive)), tasks.create_task(stopped(stopping))]
            yield exchange
            for end in ends:
                end.cancel()
    except* HungUp:
        if not exchange.has_begun:
            raise HungUp from None
    except* ApiError as errors:
        raise first(errors) from None
    except* CallError as errors:
        if not exchange.has_begun:
            raise unreachable(first(errors)) from None
    await exchange.end()


async def hang_up(receive: Receive) -> None:
    """Raises HungUp when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    raise HungUp


async def stopped(stopping: asyncio.Event) -> None:
    """Raises HungUp when this server stops."""
    await stopping.wait()
    raise HungUp


def first(errors: BaseExceptionGroup[E]) -> E:
    """One reason is enough."""
    error = errors.exceptions[0]
    return first(error) if isinstance(error, BaseExceptionGroup) else error
