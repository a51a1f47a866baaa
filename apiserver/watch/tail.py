"""Follows the log and feeds the watch cache: the one way from what was written to what is read and watched."""

from __future__ import annotations

import structlog

from apiserver.storage.interface import Compacted, Storage, StorageUnavailable
from apiserver.watch.cache import WatchCache
from kubeloop.apimachinery.clock import Clock

_READ_AT_ONCE = 1_000
_RETRY_SECONDS = 1.0

log = structlog.get_logger(__name__)


class Tail:
    """Reads `storage.changes_after` for ever and applies every change to the cache, in order and without gaps.

    `load` fills the cache before the server answers anyone; `run` is a task for as long as the server lives.
    """

    def __init__(self, storage: Storage, cache: WatchCache, clock: Clock) -> None:
        self._storage, self._cache, self._clock = storage, cache, clock
        self.fails = ""  # why the log cannot be read, while it cannot
        self.is_loaded = False

    async def load(self) -> None:
        self._cache.replace(*await self._storage.snapshot())
        self.is_loaded = True

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except StorageUnavailable as error:
                self.fails = str(error)
                log.warning("storage unavailable, reading on in a moment", error=str(error))
                await self._clock.sleep(_RETRY_SECONDS)
            except Compacted as error:
                # So far behind that the log went on without us: the gap is known to nobody, watchers have to relist.
                log.warning("fell behind the log's compaction, loading anew", error=str(error))
                await self.load()

    async def _follow(self) -> None:
        while True:
            await self._storage.wait_for_changes(self._cache.revision)
            changes = await self._storage.changes_after(self._cache.revision, _READ_AT_ONCE)
            self.fails = ""
            if changes:
                self._cache.apply(changes)
