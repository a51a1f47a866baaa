"""One answer on a connection, which ends with it: whole, or as a stream whose end nobody knows yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from kubelet_sim.server.body import Body
from kubeloop.apimachinery.forwarding import UNREACHABLE_HEADER

TEXT = "text/plain; charset=utf-8"


class Refused(Exception):
    """An answer that is not what was asked for; the text goes to whoever asked."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Unreachable(Refused):
    """The node is cut off: whoever asked has to say that he did not get there. `why`: Go's words for a failed dial."""

    def __init__(self, why: str) -> None:
        super().__init__(502, why)


class HungUp(Exception):
    """Nobody is there to be answered any more."""


class Exchange:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.body = Body(reader)
        self.has_begun = False
        self.is_cut_off: Callable[[], bool] = lambda: False  # nothing arrives any more at the other end

    async def answer(self, status: int, text: str, content_type: str = TEXT, *, has_body: bool = True) -> None:
        """`has_body`: False for a HEAD, which is told of the body only."""
        body = text.encode()
        await self._begin(status, f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n")
        await self.write_raw(body if has_body else b"")

    async def refuse(self, refused: Refused) -> None:
        unreachable = isinstance(refused, Unreachable)
        headers = f"{UNREACHABLE_HEADER}: {refused.text}\r\n" if unreachable else ""
        body = refused.text.encode()
        await self._begin(refused.status, f"{headers}Content-Type: {TEXT}\r\nContent-Length: {len(body)}\r\n")
        await self.write_raw(body)

    async def begin_stream(self, content_type: str = TEXT) -> None:
        await self._begin(200, f"Content-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n")
        await self.writer.drain()

    async def write(self, data: bytes) -> None:
        """A chunk of the stream. Raises OSError where nobody is there any more."""
        if data:
            await self.write_raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        await self.write_raw(b"0\r\n\r\n")

    async def write_raw(self, data: bytes) -> None:
        """Waits while the other end is slow. HungUp once the node is cut off."""
        if self.is_cut_off():
            raise HungUp
        self.has_begun = True
        self.writer.write(data)
        await self.writer.drain()

    async def _begin(self, status: int, headers: str) -> None:
        self.has_begun = True
        reason = HTTPStatus(status).phrase
        self.writer.write(f"HTTP/1.1 {status} {reason}\r\n{headers}Connection: close\r\n\r\n".encode())

    async def until_hung_up(self) -> None:
        """Raises HungUp when the other end closes; what it sends until then is dropped."""
        while await self.reader.read(4096):
            pass
        raise HungUp
