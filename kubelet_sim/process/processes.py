"""How containers' processes are started, spoken to and ended.

`Processes` is the seam: LocalProcesses is the operating system, and tests have one that starts nothing. Both pass
tests/contract/processes_suite.py.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import signal
import stat
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kubelet_sim.process import words
from kubelet_sim.process.descriptors import Descriptor
from kubelet_sim.process.terminal import Terminal, open_terminal
from kubeloop.container_processes import end_processes_of

STDOUT, STDERR = 1, 2
SIGNALLED = 128  # and the number of the signal: the exit code of a process that one has ended

_PDEATHSIG = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
_libc = ctypes.CDLL(None, use_errno=True)


class CannotStart(Exception):
    """The text is a container runtime's reason (words.py)."""


@dataclass(frozen=True, slots=True)
class Command:
    """`working_dir` is there. Without `has_stdin` there is nothing to read. `program`: "" to look for argv[0]."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    working_dir: Path
    has_stdin: bool = False
    has_terminal: bool = False
    program: str = ""


class Process(Protocol):
    """The first process of a group of its own. When it ends, whatever is left of its group is killed."""

    @property
    def pid(self) -> int: ...

    async def read(self, stream: int) -> bytes:
        """What it has written since; b"" at the end. With a terminal all is STDOUT. One reader for each."""

    async def write(self, data: bytes) -> None:
        """To its standard input; dropped where nobody reads any more."""

    async def close_stdin(self) -> None:
        """It reads an end of file."""

    def resize(self, columns: int, rows: int) -> None:
        """Its terminal, if it has one."""

    def signal(self, number: int, *, group: bool = False) -> None:
        """Nothing happens where it has ended."""

    async def wait(self) -> int:
        """The exit code; SIGNALLED + the number of the signal that ended it."""

    def close(self) -> None:
        """Nothing is read or written any more."""


class Processes(Protocol):
    async def start(self, command: Command) -> Process:
        """Raises CannotStart."""

    async def end_strays(self, root: Path) -> None:
        """Kill what was started by a container with that root and left its group (or its kubelet died)."""


class LocalProcesses:
    """Processes of this machine, as children: they are killed when this process dies, however it dies."""

    async def start(self, command: Command) -> Process:
        program = command.program or find_program(command.argv[0], command.environment, command.working_dir)
        pipes = _Pipes.of(command)
        try:
            popen = _spawn(command, program, pipes)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            pipes.close()
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            raise CannotStart(words.refused(program, reason)) from error
        return LocalProcess(popen, pipes)

    async def end_strays(self, root: Path) -> None:
        await asyncio.to_thread(end_processes_of, root)


def find_program(name: str, environment: Mapping[str, str], working_dir: Path) -> str:
    """Raises CannotStart."""
    if "/" in name:
        path = working_dir / name
        if not path.exists():
            raise CannotStart(words.not_found(name))
        if path.is_dir() or not os.access(path, os.X_OK):
            raise CannotStart(words.not_executable(name))
        return str(path)
    found = False
    for folder in environment.get("PATH", "").split(os.pathsep):
        path = working_dir / folder / name
        if folder and path.is_file():
            if os.access(path, os.X_OK):
                return str(path)
            found = True
    raise CannotStart(words.not_executable(name) if found else words.not_found(name))


def _spawn(command: Command, program: str, pipes: _Pipes) -> subprocess.Popen[bytes]:
    """Takes a few milliseconds: a fork, and an exec that has been seen to go well."""
    return subprocess.Popen(
        list(command.argv),
        executable=program,
        env=dict(command.environment),
        cwd=command.working_dir,
        stdin=pipes.stdin,
        stdout=pipes.stdout,
        stderr=pipes.stderr,
        start_new_session=True,
        preexec_fn=_in_child(os.getpid(), command.has_terminal),
    )


def _in_child(parent: int, has_terminal: bool) -> Callable[[], None]:
    """Between fork and exec: only calls of the system, as other threads may hold whatever locks there are."""

    def prepare() -> None:
        _libc.prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before it was asked for
            os._exit(1)
        if has_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    return prepare


@dataclass(slots=True)
class _Pipes:
    """Both ends: `stdin`, `stdout` and `stderr` are the child's, to be closed once it has them."""

    stdin: int
    stdout: int
    stderr: int
    input: int | None = None
    outputs: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, command: Command) -> _Pipes:
        if command.has_terminal:
            ours, theirs = open_terminal()
            return cls(theirs, theirs, theirs, ours, {STDOUT: ours})
        (out, child_out), (err, child_err) = os.pipe(), os.pipe()
        if command.has_stdin:
            child_in, ours = os.pipe()
            return cls(child_in, child_out, child_err, ours, {STDOUT: out, STDERR: err})
        nothing = os.open(os.devnull, os.O_RDONLY)
        return cls(nothing, child_out, child_err, None, {STDOUT: out, STDERR: err})

    def close_theirs(self) -> None:
        for number in {self.stdin, self.stdout, self.stderr}:
            os.close(number)

    def close(self) -> None:
        self.close_theirs()
        for number in {*self.outputs.values(), *([] if self.input is None else [self.input])}:
            os.close(number)


class LocalProcess:
    def __init__(self, popen: subprocess.Popen[bytes], pipes: _Pipes) -> None:
        pipes.close_theirs()
        self._popen = popen
        self._terminal = Terminal(pipes.outputs[STDOUT]) if _is_terminal(pipes.outputs[STDOUT]) else None
        shared = {number: Descriptor(number) for number in {*pipes.outputs.values()}}
        self._outputs = {stream: shared[number] for stream, number in pipes.outputs.items()}
        self._input = None if pipes.input is None else shared.get(pipes.input) or Descriptor(pipes.input)
        loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = loop.create_future()
        self._pidfd = os.pidfd_open(popen.pid)
        loop.add_reader(self._pidfd, self._on_exit)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _on_exit(self) -> None:
        """Its group is killed before the process is reaped: until then nobody else can have its number."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        code = self._popen.wait()
        if not self._exited.done():
            self._exited.set_result(SIGNALLED - code if code < 0 else code)

    async def read(self, stream: int) -> bytes:
        output = self._outputs.get(stream)
        return await output.read() if output else b""

    async def write(self, data: bytes) -> None:
        if self._input is not None:
            await self._input.write(data)

    async def close_stdin(self) -> None:
        if self._terminal is not None:
            await self.write(bytes([self._terminal.end_of_file]))
        elif self._input is not None:
            self._input.close()

    def resize(self, columns: int, rows: int) -> None:
        if self._terminal is not None and not self._exited.done():
            self._terminal.resize(columns, rows)

    def signal(self, number: int, *, group: bool = False) -> None:
        if self._exited.done() or self._popen.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            (os.killpg if group else os.kill)(self._popen.pid, number)

    async def wait(self) -> int:
        return await asyncio.shield(self._exited)

    def close(self) -> None:
        for one in (*self._outputs.values(), *([self._input] if self._input else [])):
            one.close()


def _is_terminal(number: int) -> bool:
    return stat.S_ISCHR(os.fstat(number).st_mode) and os.isatty(number)
