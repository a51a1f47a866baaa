"""Shells that containers themselves run: `kubectl run -it`, and `kubectl attach -i` later.

Which containers have one says `commands.shell_at`. The shell begins with the first who attaches, and goes on where it
was with the next one; while nobody with a standard input is there, it waits. With `stdinOnce` it ends with the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from kubelet_sim.server.driving import Driver, Script
from kubelet_sim.server.exchange import HungUp
from kubelet_sim.server.streams import Streams
from kubelet_sim.shell.catalog import shell_in
from kubelet_sim.shell.effects import ReadLine, Write
from kubelet_sim.shell.world import World

HUNG_UP = 129  # the exit code of what SIGHUP ends
_LAST_STEPS = 1000  # that a shell may take at the end of its input; it waits for nothing any more


class Console:
    """`is_once`: of stdinOnce."""

    def __init__(self, world: World, command: Sequence[str], is_once: bool) -> None:
        self.is_once = is_once
        self._script = Script(shell_in(world).call(command))
        self._attached: list[Streams] = []
        self._turn = asyncio.Lock()  # one has the keyboard; others look on, and have it after him

    async def attach(self, streams: Streams, driver: Driver) -> int:
        """Until the shell has ended; its exit code. Without a standard input it is only looked at."""
        self._attached.append(streams)
        try:
            if not streams.has_stdin:
                await asyncio.Event().wait()
            async with self._turn:
                return await driver.play(self._script, _Front(self, streams))
        finally:
            self._attached.remove(streams)

    @property
    def exit_code(self) -> int | None:
        """None until the shell has ended."""
        return self._script.exit_code

    def hang_up(self) -> int:
        """The exit code of a shell whose standard input is closed for good, as whoever had it is gone."""
        for _ in range(_LAST_STEPS):
            if isinstance(self._script.wanted, ReadLine | Write):
                self._script.go_on("" if isinstance(self._script.wanted, ReadLine) else None)
        return HUNG_UP if self._script.exit_code is None else self._script.exit_code

    async def show(self, stream: int, text: str) -> None:
        for streams in tuple(self._attached):
            with suppress(HungUp, OSError):  # who is on his way out
                await streams.write(stream, text)


class _Front:
    """Who has the keyboard."""

    def __init__(self, console: Console, streams: Streams) -> None:
        self._console, self._streams = console, streams
        self.interrupted = streams.interrupted

    async def write(self, stream: int, text: str) -> None:
        await self._console.show(stream, text)

    async def read_line(self) -> str:
        line = await self._streams.read_line()
        if not line and self._streams.is_closed and not self._console.is_once:
            await asyncio.Event().wait()  # the container's own standard input stays open
        return line
