"""A revision log in an SQLite database: what the API server uses by default."""

from __future__ import annotations

from pathlib import Path

from apiserver.storage.dialects import SqliteDialect, Synchronous
from apiserver.storage.directory import DataDirectory
from apiserver.storage.executor import Executor, ThreadExecutor
from apiserver.storage.journal import Recovered
from apiserver.storage.log import RevisionLog
from apiserver.storage.sql import SqlJournal


class SqliteStorage(RevisionLog):
    """Keeps its data in `directory`/state.db. Unless another executor is given, SQLite works in a thread of its own."""

    def __init__(
        self,
        directory: Path,
        executor: Executor | None = None,
        *,
        synchronous: Synchronous = "NORMAL",
        max_bytes: int = 0,
    ) -> None:
        journal = SqliteJournal(directory, synchronous, max_bytes)
        super().__init__(journal, executor if executor is not None else ThreadExecutor("sqlite"))


class SqliteJournal(SqlJournal):
    """The SQL journal in a directory that is locked while it is open."""

    def __init__(self, directory: Path, synchronous: Synchronous, max_bytes: int) -> None:
        self._file = directory / "state.db"
        super().__init__(SqliteDialect(self._file, synchronous=synchronous, max_bytes=max_bytes))
        self._directory = DataDirectory(directory)

    def open(self) -> Recovered:
        self._directory.lock()
        try:
            # Secrets stand in it as they are. SQLite gives the files beside it the same mode.
            if not self._file.exists():
                self._file.touch(mode=0o600)
            return super().open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        super().close()
        self._directory.unlock()
