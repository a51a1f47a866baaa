"""A revision log in an SQLite database: what the API server uses by default."""

from __future__ import annotations

from pathlib import Path

from apiserver.storage.batch import Batch
from apiserver.storage.checkpoints import Checkpoints
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
    """The SQL journal in a directory that is locked while it is open.

    Its write-ahead log is moved into the database by a thread of its own, so that no commit waits for the disk.
    """

    def __init__(self, directory: Path, synchronous: Synchronous, max_bytes: int) -> None:
        self._file = directory / "state.db"
        super().__init__(SqliteDialect(self._file, synchronous=synchronous, max_bytes=max_bytes))
        self._directory = DataDirectory(directory)
        self._checkpoints = Checkpoints(self._file)

    def open(self) -> Recovered:
        self._directory.lock()
        try:
            # Secrets stand in it as they are. SQLite gives the files beside it the same mode.
            if not self._file.exists():
                self._file.touch(mode=0o600)
            recovered = super().open()
            self._checkpoints.start()
            return recovered
        except BaseException:
            self.close()
            raise

    def commit(self, batch: Batch, *, waits: bool = True) -> None:
        super().commit(batch, waits=waits)
        self._checkpoints.wrote(batch)

    def close(self) -> None:
        self._checkpoints.close()
        super().close()
        self._directory.unlock()
