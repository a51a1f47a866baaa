"""Keeps the log from growing for ever: forgets what was replaced or deleted long enough ago.

As with kube-apiserver's etcd compaction (apiserver/pkg/storage/etcd3/compact.go), history is kept for five minutes;
beyond that a number of changes bounds it, so that a busy five minutes do not fill the disk.
"""

from __future__ import annotations

from collections import deque

import structlog

from apiserver.storage.interface import Storage, StorageUnavailable
from kubeloop.apimachinery.clock import Clock

log = structlog.get_logger(__name__)


class Compactor:
    """history_seconds: how old a change is before it may go (and at most one period more).
    max_changes: how many revisions of history are kept at most, however new.
    period_seconds: how often it looks.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        *,
        history_seconds: float = 300.0,
        max_changes: int = 100_000,
        period_seconds: float = 30.0,
    ) -> None:
        self._storage, self._clock = storage, clock
        self._history_seconds, self._max_changes, self._period_seconds = history_seconds, max_changes, period_seconds
        # (when, the head then), one a period, oldest first; as many as periods fit into the history.
        self._heads: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """A task for as long as the server lives."""
        while True:
            self._heads.append((self._clock.monotonic(), self._storage.head))
            await self._clock.sleep(self._period_seconds)
            try:
                await self._storage.compact(self._oldest_kept())
            except StorageUnavailable as error:
                log.warning("compaction put off", error=str(error))

    def _oldest_kept(self) -> int:
        """The revision to compact at: old enough by age, or by number."""
        old_enough = self._clock.monotonic() - self._history_seconds
        by_age = 0
        while self._heads and self._heads[0][0] <= old_enough:
            by_age = self._heads.popleft()[1]
        return max(by_age, self._storage.head - self._max_changes, 0)
