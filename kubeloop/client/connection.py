"""One HTTP/1.1 keep-alive connection: a request out, a response in, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import httptools

from kubeloop.client.transport import ConnectionFailed

# Unread bytes of a response. Full: reading from the socket pauses, and the server is held up by TCP.
MAX_UNREAD_BYTES = 4 * 1024 * 1024
# What is read of the head; servers send a dozen others.
_HEADERS = frozenset((b"content-type", b"content-length", b"transfer-encoding", b"warning"))


class Connection(asyncio.Protocol):
    """The callbacks of the socket and of the parser, and a Response that hands out what they collect."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None  # whoever waits for the next thing to happen
        self._failure: str = ""  # set: nothing more will come
        self.idle_since = 0.0
        self._parser = httptools.HttpResponseParser(self)  # of all responses, one after the other
        self._chunks: list[bytes] = []
        self._reset()

    def _reset(self) -> None:
        self._chunks = []
        self._unread_bytes = 0
        self._is_paused = False
        self._has_length = False
        self.status = 0
        self.content_type = ""
        self.warnings: list[str] = []
        self.has_head = False
        self.is_complete = False
        self._may_be_reused = False

    # --- the user's side

    @property
    def is_open(self) -> bool:
        return not self._failure and self._transport is not None and not self._transport.is_closing()

    @property
    def is_reusable(self) -> bool:
        """The last response is over, and the server will take another request."""
        return self.is_complete and self._may_be_reused and self.is_open

    async def exchange(self, message: bytes) -> None:
        """Send a request and wait for the head of its answer: on one that is open, and whose last response is over."""
        self._reset()
        assert self._transport is not None
        self._transport.write(message)
        while not self.has_head:
            await self._next()

    async def read(self) -> bytes:
        """The whole body."""
        parts: list[bytes] = []
        while not self.is_complete:
            parts += self._taken()
            await self._next()
        parts += self._taken()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; what came in several reads while nobody looked is handed out in one piece."""
        while True:
            if self._chunks:
                chunks = self._taken()
                yield chunks[0] if len(chunks) == 1 else b"".join(chunks)
            elif self.is_complete:
                return
            else:
                await self._next()

    def _taken(self) -> list[bytes]:
        """What has come of the body since this was asked last."""
        chunks, self._chunks, self._unread_bytes = self._chunks, [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return chunks

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._fail("connection closed")

    async def _next(self) -> None:
        """Until something happened; raises once nothing more can."""
        if self._failure:
            raise ConnectionFailed(self._failure)
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # --- the socket's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"not an HTTP response: {error}")
            if self._transport is not None:
                self._transport.abort()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        if error is None and self.has_head and not self._has_length:
            self.is_complete = True  # a body without a length ends with its connection
        self._fail(repr(error) if error else "connection closed by the server")

    # --- the parser's side

    def on_message_begin(self) -> None:
        if self.is_complete:  # bytes nobody asked for: they must never pass for the next answer
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in _HEADERS:
            return
        if name == b"content-type":
            self.content_type = value.decode("latin-1")
        elif name == b"warning":
            self.warnings.append(value.decode("utf-8", "replace"))
        else:
            self._has_length = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # 1xx only announces the real one
            self.status, self.has_head = status, True

    def on_body(self, body: bytes) -> None:
        if self.is_complete:
            return
        self._chunks.append(body)
        self._unread_bytes += len(body)
        if self._unread_bytes > MAX_UNREAD_BYTES and self._transport is not None and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_complete = True
            self._may_be_reused = self._parser.should_keep_alive()

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
