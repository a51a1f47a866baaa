"""The audit log's file: only ever added to, and put aside when it is full or there are too many of it.

Names and rules are those of the real server's log rotation: `audit-2026-01-02T03-04-05.000.log` beside `audit.log`;
what is older than so many days, or more than so many files, is removed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

_STAMP = "%Y-%m-%dT%H-%M-%S"


@dataclass(frozen=True, slots=True)
class Rotation:
    """--audit-log-maxsize, -maxbackup and -maxage; 0: without end."""

    max_megabytes: int = 0
    max_backups: int = 0
    max_days: int = 0


WITHOUT_END = Rotation()


class AuditFile:
    """A file that is written to in one thread at a time; `-` is standard output. Raises OSError, as files do."""

    def __init__(self, path: str, rotation: Rotation, now: Callable[[], datetime]) -> None:
        self._path, self._rotation, self._now = path, rotation, now
        self._file: BinaryIO | None = None
        self._size = 0

    def open(self) -> None:
        if self._path == "-":
            self._file = sys.stdout.buffer
            return
        # Without a buffer of its own, which would try again what could not be written, at the wrong time.
        self._file = Path(self._path).open("ab", buffering=0)  # noqa: SIM115 (it stays open while the server lives)
        self._size = Path(self._path).stat().st_size

    def close(self) -> None:
        if self._file is not None and self._path != "-":
            self._file.close()

    def write(self, lines: bytes) -> None:
        limit = self._rotation.max_megabytes << 20
        if limit and self._path != "-" and self._size and self._size + len(lines) > limit:
            self._put_aside()
        assert self._file is not None  # open comes first
        left = memoryview(lines)
        while left:
            left = left[self._file.write(left) :]
        self._file.flush()
        self._size += len(lines)

    def _put_aside(self) -> None:
        self.close()
        path, now = Path(self._path), self._now()
        stamp = f"{now.strftime(_STAMP)}.{now.microsecond // 1000:03}"
        path.rename(path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
        self.open()
        self._remove_old(path, now)

    def _remove_old(self, path: Path, now: datetime) -> None:
        """Newest first: those after as many as are kept go, and those from before the days that count."""
        kept, days = self._rotation.max_backups, self._rotation.max_days
        backups = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"), reverse=True)
        oldest = f"{path.stem}-{(now - timedelta(days=days)).strftime(_STAMP)}"
        for i, backup in enumerate(backups):
            if (kept and i >= kept) or (days and backup.name < oldest):
                backup.unlink(missing_ok=True)
