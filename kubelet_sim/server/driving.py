"""Drives a script of the shell in real time, with somebody's streams at its ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, Protocol

from kubelet_sim.server.cluster import Cluster
from kubelet_sim.shell.effects import Ask, Effect, Interrupted, Kill, ReadLine, Running, Sleep, Write
from kubelet_sim.shell.interpreter import Exit

INTERRUPTED = 130


class Terminal(Protocol):
    """`interrupted`: somebody has pressed Ctrl-C; whoever hears of it clears it."""

    @property
    def interrupted(self) -> asyncio.Event: ...

    async def write(self, stream: int, text: str) -> None: ...

    async def read_line(self) -> str: ...


class Script:
    """A script and what it wants next. Whoever drives it may leave it at that to somebody else."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.exit_code: int | None = None  # None until it has ended
        self.wanted: Effect | None = None
        self.go_on(None)

    def go_on(self, answer: Any) -> None:
        """`answer` to what was wanted."""
        self._step(lambda: self._running.send(answer))

    def interrupt(self) -> None:
        self._step(lambda: self._running.throw(Interrupted()))

    def _step(self, step: Callable[[], Effect]) -> None:
        self.wanted = None
        try:
            self.wanted = step()
        except StopIteration as end:
            self.exit_code = int(end.value)
        except Exit as end:
            self.exit_code = end.code
        except Interrupted:
            self.exit_code = INTERRUPTED


class Driver:
    """Of scripts in one container. `kill`: told of signals to the container's first process."""

    def __init__(self, cluster: Cluster, namespace: str, kill: Callable[[int], None]) -> None:
        self._cluster, self._namespace, self._kill = cluster, namespace, kill

    async def play(self, script: Script, terminal: Terminal) -> int:
        """The exit code. Cancelled, it leaves the script where it is."""
        while script.exit_code is None:
            answer = await self._carry_out(script.wanted, terminal)
            if terminal.interrupted.is_set():
                terminal.interrupted.clear()
                script.interrupt()
            else:
                script.go_on(answer)
        return script.exit_code

    async def _carry_out(self, effect: Effect | None, terminal: Terminal) -> Any:
        match effect:
            case Write(stream, text):
                await terminal.write(stream, text)
            case Sleep(seconds):
                await _pause(seconds, terminal)
            case ReadLine():
                return await _read(terminal)
            case Ask():
                return await self._cluster.answer(effect, self._namespace)
            case Kill(signal):
                self._kill(signal)
        return None


async def _pause(seconds: float, terminal: Terminal) -> None:
    """Until it is over, or somebody presses Ctrl-C."""
    try:
        async with asyncio.timeout(None if math.isinf(seconds) else seconds):
            await terminal.interrupted.wait()
    except TimeoutError:
        pass


async def _read(terminal: Terminal) -> str:
    reading = asyncio.create_task(terminal.read_line())
    interrupted = asyncio.create_task(terminal.interrupted.wait())
    try:
        await asyncio.wait((reading, interrupted), return_when=asyncio.FIRST_COMPLETED)
        return reading.result() if reading.done() else ""
    finally:
        reading.cancel()
        interrupted.cancel()
