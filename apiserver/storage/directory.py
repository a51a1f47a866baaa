"""The data directory: made if missing, and one server's at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from apiserver.storage.interface import StorageUnavailable


class DataDirectory:
    """`lock` refuses a directory that another server uses.

    The lock is the operating system's: it ends with the process, however that ends, so there is no stale one to remove.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def lock(self) -> None:
        """Raises StorageUnavailable, in one line, where the directory cannot be used."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageUnavailable(f"cannot write to the data directory {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StorageUnavailable(f"the data directory {self.path} is in use by another server") from error
        self._lock = descriptor

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
