"""A watch's answer as lines, for the faults that meddle with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from urllib.parse import parse_qsl

import orjson

from kubeloop.client.transport import Request, Response
from kubeloop.client.watching import BOOKMARK, ERROR, LineSplitter
from kubeloop.testing.faults.answers import status_of

Lines = list[bytes]

_SCOPE = ("labelSelector", "fieldSelector")


class LineReader:
    """Reads with a time limit, which an async generator cannot."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks, self._splitter = chunks, LineSplitter()
        self._pending: asyncio.Task[bytes | None] | None = None  # the chunk that is waited for
        self._failure: Exception | None = None  # what the next read ends with
        self._is_over = False

    async def read(self, within_seconds: float | None = None) -> Lines | None:
        """The next lines; none after `within_seconds`; None at the end. Raises what the connection raises."""
        if self._failure is not None:
            raise self._failure
        if self._is_over:
            return None
        if self._pending is None:
            self._pending = asyncio.ensure_future(_next(self._chunks))
        await asyncio.wait([self._pending], timeout=within_seconds)
        if not self._pending.done():
            return []
        pending, self._pending = self._pending, None
        chunk = pending.result()
        self._is_over = chunk is None
        return None if chunk is None else self._splitter.feed(chunk)

    async def gather(self, seconds: float) -> Lines:
        """Everything that comes within this time. How the stream ends meanwhile, the next read tells."""
        gathered: Lines = []
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            try:
                lines = await self.read(left)
            except Exception as failure:
                self._failure = failure
                break
            if lines is None:
                break
            gathered += lines
        return gathered

    async def aclose(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.wait([self._pending])
            if not self._pending.cancelled():
                self._pending.exception()


class WatchResponse:
    """A watch's response whose lines go through `play`."""

    def __init__(self, response: Response, play: Callable[[LineReader], AsyncGenerator[Lines, None]]) -> None:
        self._response, self._play = response, play
        self.status, self.content_type = response.status, response.content_type

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        reader = LineReader(self._response.chunks())
        try:
            async with aclosing(self._play(reader)) as batches:
                async for lines in batches:
                    if lines:
                        yield b"".join(line + b"\n" for line in lines)
        finally:
            await reader.aclose()

    async def aclose(self) -> None:
        await self._response.aclose()


def scope_of(request: Request) -> str:
    """What a list and the watch that follows it have in common."""
    path, _, query = request.target.partition("?")
    return " ".join([path, *(f"{k}={v}" for k, v in parse_qsl(query) if k in _SCOPE)])


def is_bookmark(line: bytes) -> bool:
    return bool(orjson.loads(line)["type"] in (BOOKMARK, ERROR))


def object_of(event: dict[str, dict[str, dict[str, str]]]) -> str:
    metadata = event["object"]["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def expired_line(message: str) -> bytes:
    return orjson.dumps({"type": ERROR, "object": status_of(410, "Expired", message)})


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)
