"""A program at a terminal: what somebody at a keyboard sees and types."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

DEADLINE_SECONDS = 60.0


class Terminal:
    """`with Terminal(command) as terminal:` ends the program at the end, if it has not ended itself."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._shown = ""

    def __enter__(self) -> Self:
        # The child becomes the program at once, so what other threads hold does not matter to it.
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execve(self._command[0], list(self._command), dict(self._environment))
        self._code: int | None = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)

    def wait_for(self, text: str) -> str:
        """Everything that is shown until then, `text` included. AssertionError where it never comes."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in self._shown:
            seen = self._read(deadline)
            assert seen, f"{text!r} is never shown: {self._shown!r}"
            self._shown += seen
        before, found, self._shown = self._shown.partition(text)
        return before + found

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def end(self) -> tuple[str, int]:
        """The rest of what is shown, and the exit code."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while seen := self._read(deadline):
            self._shown += seen
        self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._shown, self._code

    def _read(self, deadline: float) -> str:
        """What comes next; "" at the end."""
        readable, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"nothing more is shown: {self._shown!r}"
        try:
            return os.read(self._fd, 65536).decode("utf-8", "replace")
        except OSError:  # Linux's way of saying that nobody is at the other end
            return ""
