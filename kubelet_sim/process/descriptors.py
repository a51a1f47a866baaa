"""Reads and writes of a pipe or a terminal that wait in the event loop, whichever loop that is."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable

_CHUNK = 64 * 1024


class Descriptor:
    """One reader at a time; writers take turns, as the loop tells only one of them that there is room."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._is_closed = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._turn = asyncio.Lock()
        os.set_blocking(number, False)

    async def read(self) -> bytes:
        """b"" at the end. Others get a turn in any case: a program that never stops writing is always ready."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)
        while not self._is_closed:
            try:
                return os.read(self._number, _CHUNK)
            except BlockingIOError:
                await self._until(loop.add_reader, loop.remove_reader)
            except OSError as error:
                if error.errno != errno.EIO:  # a terminal whose other end nobody has any more
                    raise
                return b""
        return b""

    async def write(self, data: bytes) -> None:
        """Dropped where nobody reads any more."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            while data and not self._is_closed:
                try:
                    data = data[os.write(self._number, data) :]
                except BlockingIOError:
                    await self._until(loop.add_writer, loop.remove_writer)
                except OSError as error:
                    if error.errno not in (errno.EIO, errno.EPIPE):
                        raise
                    return

    def close(self) -> None:
        """Whoever waits sees the end."""
        if self._is_closed:
            return
        self._is_closed = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._number)
        loop.remove_writer(self._number)
        for waiting in self._waiting:
            _set(waiting)
        os.close(self._number)

    async def _until(self, add: Callable[..., object], remove: Callable[[int], object]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(ready)
        add(self._number, _set, ready)
        try:
            await ready
        finally:
            self._waiting.discard(ready)
            if not self._is_closed:
                remove(self._number)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
