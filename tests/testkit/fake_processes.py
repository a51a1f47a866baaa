"""Processes and ports that nothing stands behind, for tests on virtual time. Kept to the contract of the real ones."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path

from kubelet_sim.process import words
from kubelet_sim.process.actions import Answer, Unreachable
from kubelet_sim.process.processes import SIGNALLED, STDERR, STDOUT, CannotStart, Command, Process

Program = Callable[["FakeProcess"], Awaitable[int]]
FOREVER_SECONDS = 1e6


class FakeProcess:
    """Runs a program, which is a coroutine, until it returns its exit code or a signal ends it.

    `trap`: what the program does instead when a signal comes; SIGKILL cannot be trapped.
    """

    def __init__(self, pid: int, command: Command, program: Program) -> None:
        self.pid, self.command = pid, command
        self.trap: dict[int, Callable[[], None]] = {}
        self.size: tuple[int, int] | None = None
        self.signals: list[int] = []
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._outputs = {stream: asyncio.Queue[bytes]() for stream in (STDOUT, STDERR)}
        self._exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(program(self))
        self._task.add_done_callback(lambda task: self._exit(0 if task.cancelled() else task.result()))
        if not command.has_stdin and not command.has_terminal:
            self._input.put_nowait(b"")

    # --- for programs

    @property
    def argv(self) -> list[str]:
        return list(self.command.argv)

    def print(self, text: str, stream: int = STDOUT) -> None:
        self._outputs[STDOUT if self.command.has_terminal else stream].put_nowait(text.encode())

    async def input(self) -> bytes:
        return await self._input.get()

    async def sleep(self, seconds: float = FOREVER_SECONDS) -> int:
        await asyncio.sleep(seconds)
        return 0

    # --- as a Process

    async def read(self, stream: int) -> bytes:
        if self.command.has_terminal and stream == STDERR:
            return b""
        return await self._outputs[stream].get()

    async def write(self, data: bytes) -> None:
        if not self._exited.done():
            self._input.put_nowait(data)

    async def close_stdin(self) -> None:
        self._input.put_nowait(b"")

    def resize(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)

    def signal(self, number: int, *, group: bool = False) -> None:
        if self._exited.done():
            return
        self.signals.append(number)
        if number in self.trap and number != signal.SIGKILL:
            self.trap[number]()
        else:
            self._exit(SIGNALLED + number)

    async def wait(self) -> int:
        return await asyncio.shield(self._exited)

    def close(self) -> None:
        for output in self._outputs.values():
            output.put_nowait(b"")

    def _exit(self, code: int) -> None:
        if not self._exited.done():
            self._exited.set_result(code)
            self._task.cancel()
            self.close()


class FakeProcesses:
    """`programs` by name; those of BUILT_IN are always there. `started`: all there were, in order."""

    def __init__(self, programs: Mapping[str, Program] | None = None) -> None:
        self.programs: dict[str, Program] = {**BUILT_IN, **(programs or {})}
        self.started: list[FakeProcess] = []
        self._pids = count(1)

    async def start(self, command: Command) -> Process:
        name = command.argv[0]
        if name not in self.programs:
            raise CannotStart(words.not_found(name))
        process = FakeProcess(next(self._pids), command, self.programs[name])
        self.started.append(process)
        return process

    async def end_strays(self, root: Path) -> None:
        """There are none: nothing here outlives its group."""

    def alive(self) -> list[str]:
        return [" ".join(one.argv) for one in self.started if not one._exited.done()]


class FakeNetwork:
    """`answers`: the HTTP status by port; any other port refuses. `hangs`: ports that do not answer."""

    def __init__(self) -> None:
        self.answers: dict[int, int] = {}
        self.hangs: set[int] = set()
        self.asked: list[str] = []

    async def connect(self, host: str, port: int) -> None:
        if port in self.hangs:
            await asyncio.sleep(FOREVER_SECONDS)
        if port not in self.answers:
            raise Unreachable(f"dial tcp {host}:{port}: connect: connection refused")

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        self.asked.append(url)
        host, _, port = url.split("/")[2].partition(":")
        await self.connect(host, int(port))
        return Answer(self.answers[int(port)])


async def _echo(process: FakeProcess) -> int:
    process.print(" ".join(process.argv[1:]) + "\n")
    return 0


async def _cat(process: FakeProcess) -> int:
    while piece := await process.input():
        process.print(piece.decode())
    return 0


async def _sleep(process: FakeProcess) -> int:
    return await process.sleep(float(process.argv[1]))


async def _env(process: FakeProcess) -> int:
    process.print("".join(f"{name}={text}\n" for name, text in process.command.environment.items()))
    return 0


async def _pwd(process: FakeProcess) -> int:
    process.print(f"{process.command.working_dir}\n")
    return 0


async def _sh(process: FakeProcess) -> int:
    """Knows `sh -c 'exit N'` and `sh -c 'echo TEXT >&2'`."""
    word, text, *_ = process.argv[2].split()
    if word == "echo":
        process.print(f"{text}\n", STDERR)
        return 0
    return int(text)


BUILT_IN: Mapping[str, Program] = {
    "echo": _echo,
    "cat": _cat,
    "sleep": _sleep,
    "env": _env,
    "pwd": _pwd,
    "sh": _sh,
}
