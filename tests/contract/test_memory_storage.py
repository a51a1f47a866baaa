"""The memory storage keeps the storage contract."""

from pathlib import Path

from apiserver.storage.interface import Storage
from apiserver.storage.memory import MemoryStorage
from tests.contract.storage_suite import StorageSuite


class TestMemoryStorage(StorageSuite):
    def open(self, directory: Path) -> Storage:
        return MemoryStorage()
