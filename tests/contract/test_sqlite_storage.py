"""The SQLite storage keeps the storage contract, in a thread and in the event loop."""

from pathlib import Path

from apiserver.storage.executor import InlineExecutor
from apiserver.storage.interface import Storage
from apiserver.storage.sqlite import SqliteStorage
from tests.contract.storage_suite import StorageSuite


class TestSqliteInAThread(StorageSuite):
    def open(self, directory: Path) -> Storage:
        return SqliteStorage(directory / "data")


class TestSqliteInTheEventLoop(StorageSuite):
    def open(self, directory: Path) -> Storage:
        return SqliteStorage(directory / "data", InlineExecutor())
