"""A program at a terminal: what somebody at a keyboard sees and types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

DEADLINE_SECONDS = 180.0  # more than kubectl is told to wait for pods


class Terminal:
    """`with Terminal(command) as terminal:` ends the program at the end, if it has not ended itself."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._shown = ""

    def __enter__(self) -> Self:
        self._fd, other_end = pty.openpty()
        self._process = subprocess.Popen(
            self._command,
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            env=dict(self._environment),
            start_new_session=True,
        )
        os.close(other_end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
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
        return self._shown, self._process.wait(DEADLINE_SECONDS)

    def _read(self, deadline: float) -> str:
        """What comes next; "" at the end."""
        readable, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"nothing more is shown: {self._shown!r}"
        try:
            return os.read(self._fd, 65536).decode("utf-8", "replace")
        except OSError:  # Linux's way of saying that nobody is at the other end
            return ""
