"""What one run of a container has written: lines with their times, in files that are kept small.

The form is the container runtimes' (CRI logging): `TIME STREAM TAG TEXT`, where the tag P says that the line goes on. A
full file is followed by the next one, and only the last few are kept, as a kubelet's containerLogMaxSize and
containerLogMaxFiles have it (pkg/kubelet/logs, v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from kubelet_sim.process.processes import STDERR, STDOUT
from kubeloop.apimachinery.clock import Clock

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5
MAX_LINE_BYTES = 16 * 1024  # what is longer is written in pieces

_NAMES = {STDOUT: b"stdout", STDERR: b"stderr"}
_STREAMS = {name: stream for stream, name in _NAMES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """`text` has its end of line, unless the line goes on in the next entry of the stream."""

    time: bytes  # RFC 3339 with nanoseconds, UTC
    stream: int
    text: bytes


class RunLog:
    """Written by one, read by many. A log that was written by a process before this one is only read."""

    def __init__(self, folder: Path, clock: Clock, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self._clock, self._max_bytes = clock, max_bytes
        self._file: IO[bytes] | None = None
        self._size = 0
        self._begun: dict[int, bytes] = {}  # stream -> of a line that has no end yet
        self._waiting: set[asyncio.Event] = set()
        self.is_being_written = False

    # --- writing

    def begin(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.is_being_written = True
        self._open(self._numbers()[-1] + 1 if self._numbers() else 0)

    def write(self, stream: int, data: bytes) -> None:
        *whole, rest = (self._begun.pop(stream, b"") + data).split(b"\n")
        now = stamp(self._clock.now())
        written = b"".join(_entry(now, stream, line) for line in whole)
        while len(rest) >= MAX_LINE_BYTES:
            written += _entry(now, stream, rest[:MAX_LINE_BYTES], b"P")
            rest = rest[MAX_LINE_BYTES:]
        if rest:
            self._begun[stream] = rest
        self._append(written)

    def end(self) -> None:
        """Nothing more is written."""
        now = stamp(self._clock.now())
        self._append(b"".join(_entry(now, stream, rest, b"P") for stream, rest in self._begun.items()))
        self._begun.clear()
        self.is_being_written = False
        if self._file is not None:
            self._file.close()
        self._tell()

    def _append(self, data: bytes) -> None:
        if not data or self._file is None:
            return
        self._file.write(data)
        self._size += len(data)
        if self._size >= self._max_bytes:
            number = int(Path(self._file.name).stem)
            self._file.close()
            self._open(number + 1)
        self._tell()

    def _open(self, number: int) -> None:
        self._file = (self.folder / f"{number}.log").open("ab", buffering=0)
        self._size = 0
        for old in self._numbers()[:-MAX_FILES]:
            (self.folder / f"{old}.log").unlink(missing_ok=True)

    def _tell(self) -> None:
        for event in self._waiting:
            event.set()

    # --- reading

    @contextmanager
    def changes(self) -> Iterator[asyncio.Event]:
        """An event that is set when something was written, or nothing more will be; whoever waits clears it."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            yield event
        finally:
            self._waiting.discard(event)

    def entries(self, last: int | None = None) -> Iterator[Entry | None]:
        """In order, of what there is by now only the last ones if so many are wanted; None where there is no more for
        now: go on later, or stop.
        """
        number, position = ((self._numbers() or [0])[0], 0) if last is None else self._begin_of_last(last)
        while True:
            lines, position = self._lines(number, position)
            for line in lines:
                time, name, tag, text = line.split(b" ", 3)
                yield Entry(time, _STREAMS[name], text + (b"" if tag == b"P" else b"\n"))
            later = [one for one in self._numbers() if one > number]
            if later and not lines:
                number, position = later[0], 0
            elif not lines:
                yield None

    def _begin_of_last(self, lines: int) -> tuple[int, int]:
        """The file and the position in it where so many lines are left."""
        numbers = self._numbers() or [0]
        for number in reversed(numbers):
            written = self._read(number)
            found = written.count(b"\n")
            if found >= lines:
                end = len(written)
                for _ in range(lines):
                    end = written.rfind(b"\n", 0, end)
                return number, written.rfind(b"\n", 0, end) + 1 if lines else len(written)
            lines -= found
        return numbers[0], 0

    def _read(self, number: int) -> bytes:
        try:
            return (self.folder / f"{number}.log").read_bytes()
        except FileNotFoundError:
            return b""

    def last(self, lines: int, max_bytes: int) -> bytes:
        """The end of what was written."""
        numbers = self._numbers()
        if not numbers:
            return b""
        path = self.folder / f"{numbers[-1]}.log"
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - lines * MAX_LINE_BYTES))
            written = file.read().splitlines(keepends=True)[-lines:]
        return b"".join(line.split(b" ", 3)[-1] for line in written)[-max_bytes:]

    def _lines(self, number: int, position: int) -> tuple[list[bytes], int]:
        """Whole lines of a file from a position on, and where they end."""
        try:
            with (self.folder / f"{number}.log").open("rb") as file:
                file.seek(position)
                data = file.read(MAX_LINE_BYTES * 8)
        except FileNotFoundError:
            return [], position
        whole, end, _ = data.rpartition(b"\n")
        return whole.split(b"\n") if end else [], position + len(whole) + len(end)

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.stem) for path in self.folder.glob("*.log") if path.stem.isdecimal())


def _entry(time: bytes, stream: int, line: bytes, tag: bytes = b"F") -> bytes:
    head = time + b" " + _NAMES[stream] + b" "
    pieces = [line[i : i + MAX_LINE_BYTES] for i in range(0, len(line), MAX_LINE_BYTES)] or [b""]
    tags = [b"P"] * (len(pieces) - 1) + [tag]
    return b"".join(head + tag + b" " + piece + b"\n" for tag, piece in zip(tags, pieces, strict=True))


def stamp(at: datetime) -> bytes:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}000Z".encode()
