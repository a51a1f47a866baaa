"""A priority queue of pods that can find, replace and remove any of them by uid."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from controllers.scheduler.queued_pod import QueuedPod

SortKey = Callable[[QueuedPod], Any]


class PodHeap:
    """Smallest key first, among equals the one that came first.

    Removed and re-ordered pods leave their old entries in `_entries`; an entry counts only if `_current` names its
    number. The cluster's pods bound the size: there is one live entry a pod, and stale ones are dropped when they are
    half of all.
    """

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        self._entries: list[tuple[Any, int, QueuedPod]] = []
        self._current: dict[str, tuple[int, QueuedPod]] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._current)

    def __contains__(self, uid: str) -> bool:
        return uid in self._current

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter([queued for _, queued in self._current.values()])

    def get(self, uid: str) -> QueuedPod | None:
        found = self._current.get(uid)
        return found[1] if found else None

    def put(self, queued: QueuedPod) -> None:
        """Add, or find its new place."""
        number = next(self._numbers)
        self._current[queued.uid] = (number, queued)
        heapq.heappush(self._entries, (self._sort_key(queued), number, queued))
        if len(self._entries) > 2 * len(self._current) + 64:
            self._entries = [entry for entry in self._entries if self._is_current(entry)]
            heapq.heapify(self._entries)

    def remove(self, uid: str) -> QueuedPod | None:
        found = self._current.pop(uid, None)
        return found[1] if found else None

    def peek(self) -> QueuedPod | None:
        while self._entries and not self._is_current(self._entries[0]):
            heapq.heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def pop(self) -> QueuedPod | None:
        queued = self.peek()
        if queued is not None:
            heapq.heappop(self._entries)
            del self._current[queued.uid]
        return queued

    def _is_current(self, entry: tuple[Any, int, QueuedPod]) -> bool:
        found = self._current.get(entry[2].uid)
        return found is not None and found[0] == entry[1]
