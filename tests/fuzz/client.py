"""A raw connection to the server: bytes out, answers in."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import yaml

_LIMIT = 64 * 1024 * 1024  # of one line, which a watch's event may fill


class Closed(Exception):
    """The server ended the connection instead of answering."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `is_open`: it goes on without an end that was told, so its connection is of no more use."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_open: bool = False

    def value(self) -> Any:
        """The body, parsed; ValueError where it is not what its headers say."""
        if self.headers.get("content-type", "").startswith("application/yaml"):
            try:
                return yaml.load(self.body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from error
        return json.loads(self.body)


class Connection:
    """One TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=_LIMIT))

    def send(self, raw: bytes) -> None:
        """All of it leaves while answers are read: a server that stops reading must not stop the client."""
        self._writer.write(raw)

    def end(self) -> None:
        """No more requests will come; answers still may."""
        if not self._writer.transport.is_closing():
            self._writer.write_eof()

    async def answer(self, *, is_head: bool = False) -> Answer:
        """The next response. Raises Closed."""
        try:
            status, headers = await self._head()
            while status < 200:  # 100 Continue
                status, headers = await self._head()
            if is_head or status in (204, 304):
                return Answer(status, headers, b"")
            if "content-length" in headers:
                return Answer(status, headers, await self._reader.readexactly(int(headers["content-length"])))
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError) as error:
            raise Closed from error
        return Answer(status, headers, b"", is_open=True)

    async def rest(self) -> bytes:
        """All that comes until the server closes."""
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""

    async def line(self) -> bytes:
        """The next line of an open answer, b"" at its end; sizes of chunks are lines too."""
        return await self._reader.readline()

    def abort(self) -> None:
        """Whoever waits for an answer gets Closed."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.transport.abort()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _head(self) -> tuple[int, dict[str, str]]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        return int(head[0].split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}
