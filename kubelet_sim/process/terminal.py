"""Our end of a process's terminal."""

from __future__ import annotations

import fcntl
import os
import struct
import termios

_END_OF_FILE = 4  # Ctrl-D


def open_terminal() -> tuple[int, int]:
    """Our end, and the process's."""
    return os.openpty()


class Terminal:
    end_of_file = _END_OF_FILE

    def __init__(self, number: int) -> None:
        self._number = number

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._number, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
