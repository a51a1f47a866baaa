"""Moves SQLite's write-ahead log into the database, beside the writers.

SQLite would do it in the commit that makes the log too long, which then waits for the disk twice. Here a thread does it
over a connection of its own: it holds no lock that a writer needs, and the GIL is free meanwhile. What it cannot reach
in time (a disk that is too slow) a commit still moves by itself, at `_CHECKPOINT_PAGES` (dialects.py).
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import structlog

from apiserver.storage.batch import Batch

_BYTES = 4 << 20  # written since the last time; about twice as much stands in the log, which holds whole pages
_PAGE_BYTES = 4096  # of the tables' other pages that a change touches
# A log that was moved to its end is begun anew by the next commit. Commits go on meanwhile, so it takes some passes.
_PASSES = 5

log = structlog.get_logger(__name__)


class Checkpoints:
    """`wrote` counts and never waits; `close` waits for a checkpoint under way."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._waiting_bytes = 0
        self._due = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="sqlite checkpoints", daemon=True)
        self._thread.start()

    def wrote(self, batch: Batch) -> None:
        for record in batch.records:
            stored = record.change.current
            self._waiting_bytes += _PAGE_BYTES + (len(stored.body) if stored is not None else 0)
        if self._waiting_bytes >= _BYTES:
            self._waiting_bytes = 0
            self._due.set()

    def close(self) -> None:
        self._is_closed = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            while self._due.wait() and not self._is_closed:
                self._due.clear()
                try:
                    _move(connection)
                except sqlite3.Error as error:
                    # Nothing is lost: the log has it, and the commit that finds no more room says so to its writers.
                    log.warning("checkpoint failed", error=str(error))


def _move(connection: sqlite3.Connection) -> None:
    for _ in range(_PASSES):
        _, in_log, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if in_log == moved:
            return
