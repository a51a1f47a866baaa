"""The body of a request to a kubelet: taken as it comes, or dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

CHUNK = 64 * 1024
DROP_SECONDS = 30.0
_LINE_END = b"\r\n"


class Body:
    """Of no request yet, and so empty."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._left = 0  # bytes of it, or of the chunk that has begun
        self._is_chunked = self._in_trailers = False

    def expect(self, headers: Mapping[str, str]) -> None:
        """What these say (names in lower case) comes next on the connection."""
        length = headers.get("content-length", "")
        self._left = int(length) if length.isdigit() else 0
        self._is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"

    async def read(self) -> bytes:
        """The next piece, b"" at the end; chunks keep their marks. IncompleteReadError where it does not end well."""
        if self._left:
            data = await self._reader.read(min(self._left, CHUNK))
            if not data:
                raise asyncio.IncompleteReadError(b"", self._left)
            self._left -= len(data)
            return data
        if not self._is_chunked:
            return b""
        line = await self._reader.readuntil(_LINE_END)
        if self._in_trailers:
            self._is_chunked = line != _LINE_END
        elif size := _size(line):
            self._left = size + len(_LINE_END)
        else:
            self._in_trailers = True
        return line

    async def drop(self) -> None:
        """What nobody wants is read all the same: a connection closed over it may take the answer along.

        Whoever sends for longer than DROP_SECONDS may lose it.
        """
        async with asyncio.timeout(DROP_SECONDS):
            while await self.read():
                pass


def _size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError as error:
        raise asyncio.IncompleteReadError(line, None) from error
