"""What differs between databases: how to connect, how to begin, what an error means.

SQLite survives `kill -9` at any moment: a commit is in the write-ahead log, which is the operating system's by then.
With synchronous=NORMAL it does not force every commit to the disk, so a power cut or a kernel crash may cost the last
moments before it (never consistency). synchronous=FULL buys those too, at one fsync a commit.
"""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any, Literal, Protocol

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

_PAGE_BYTES = 4096
# WAL pages (32 MB) before a commit moves them into the database by itself: checkpoints.py does it sooner.
_CHECKPOINT_PAGES = 8_000
_BUSY_MILLISECONDS = 5_000  # how long another program (a sqlite3 shell) may hold the database before a write fails
_FREE_PAGES_KEPT = 1_000  # room for new rows; more than this is given back to the file system
_FREE_PAGES_AT_ONCE = 300  # about 5 ms, for which a write may have to wait

Synchronous = Literal["NORMAL", "FULL"]


class Dialect(Protocol):
    mark: str  # how a positional parameter is spelled
    is_quick: bool  # see Journal

    def engine(self) -> Engine: ...

    def explain(self, error: DBAPIError) -> str:
        """One line: which database, and what is wrong with it."""
        ...

    def is_busy(self, error: DBAPIError) -> bool:
        """Whether it is only that another program holds the database."""
        ...

    def wait_for_others(self, connection: Connection, waits: bool) -> None:
        """Whether the next transaction waits where another program holds the database. Called outside transactions."""
        ...

    def trim(self, connection: Connection) -> bool:
        """Give some unused room back to the file system; whether there is more. Called outside transactions."""
        ...


class SqliteDialect:
    """max_bytes=0: as large as the disk allows."""

    mark = "?"

    def __init__(self, path: Path, *, synchronous: Synchronous = "NORMAL", max_bytes: int = 0) -> None:
        self._path, self._synchronous, self._max_bytes = path, synchronous, max_bytes
        self.is_quick = synchronous != "FULL"
        self._waits = True

    def engine(self) -> Engine:
        # isolation_level None: the driver begins nothing by itself, _begin does. One thread uses the connection at a
        # time, though not always the one that opened it.
        arguments = {"isolation_level": None, "check_same_thread": False, "cached_statements": 256}
        engine = create_engine(f"sqlite+pysqlite:///{self._path}", poolclass=NullPool, connect_args=arguments)
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "begin", self._begin)
        return engine

    def explain(self, error: DBAPIError) -> str:
        name = getattr(error.orig, "sqlite_errorname", "")
        return f"{self._path}: {error.orig}" + (f" ({name})" if name else "")

    def is_busy(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")

    def wait_for_others(self, connection: Connection, waits: bool) -> None:
        if waits != self._waits:
            _sqlite(connection).execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS if waits else 0}")
            self._waits = waits

    def trim(self, connection: Connection) -> bool:
        sqlite = _sqlite(connection)
        (free_pages,) = sqlite.execute("PRAGMA freelist_count").fetchone()
        if free_pages <= _FREE_PAGES_KEPT:
            return False
        # A script, as it steps to the end: this pragma gives back one page a step, and execute() makes only one.
        sqlite.executescript(f"PRAGMA incremental_vacuum({_FREE_PAGES_AT_ONCE})")
        return True

    def _prepare(self, sqlite: SqliteConnection, _: Any) -> None:
        sqlite.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        self._waits = True
        sqlite.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts only before the first table is made
        sqlite.execute("PRAGMA journal_mode = WAL")
        sqlite.execute(f"PRAGMA synchronous = {self._synchronous}")
        sqlite.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        sqlite.execute(f"PRAGMA journal_size_limit = {_CHECKPOINT_PAGES * _PAGE_BYTES}")
        if self._max_bytes:
            sqlite.execute(f"PRAGMA max_page_count = {self._max_bytes // _PAGE_BYTES}")

    def _begin(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _sqlite(connection: Connection) -> SqliteConnection:
    sqlite = connection.connection.driver_connection
    assert isinstance(sqlite, SqliteConnection)
    return sqlite
