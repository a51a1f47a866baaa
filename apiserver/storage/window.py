"""The newest changes, kept in memory in revision order.

The revision log keeps one so that the tail reads no SQL; the watch cache keeps a longer one so that a watch resumes
without touching storage. Both share the Change objects.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from apiserver.storage.interface import Change

_revision = attrgetter("revision")

# What a change costs beside its body: Change, Stored, Key, label and field dicts.
_OVERHEAD_BYTES = 600


class Window:
    """Changes newer than `start`, complete up to the newest one added.

    Bounded by number and by bytes. Full: the oldest changes leave and `start` moves up, so whoever wants older ones
    reads them from the log. Revisions may have gaps where the log forgot versions (`keep_history=False`).
    """

    def __init__(self, start: int = 0, *, max_changes: int, max_bytes: int) -> None:
        self.start = start
        self._max_changes, self._max_bytes = max_changes, max_bytes
        # Changes from _first on are in the window; those before it have left and are cut off now and then, which
        # keeps leaving at O(1) and lookups a plain bisect.
        self._changes: list[Change] = []
        self._first = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._changes) - self._first

    def extend(self, changes: Sequence[Change]) -> None:
        """Add the next changes, which are newer than all others here."""
        self._changes.extend(changes)
        self._bytes += sum(map(_size, changes))
        while len(self) > self._max_changes or (self._bytes > self._max_bytes and len(self) > 1):
            leaving = self._changes[self._first]
            self._bytes -= _size(leaving)
            self.start = leaving.revision
            self._first += 1
        if self._first > 1024 and self._first * 2 > len(self._changes):
            del self._changes[: self._first]
            self._first = 0

    def after(self, revision: int, limit: int | None = None) -> Sequence[Change]:
        """The changes newer than `revision`, oldest first. The caller has seen that `revision` >= `start`."""
        changes = self._changes
        if not changes or changes[-1].revision <= revision:
            return ()
        at = bisect_right(changes, revision, self._first, key=_revision)
        return changes[at:] if limit is None else changes[at : at + limit]


def _size(change: Change) -> int:
    return _OVERHEAD_BYTES + (len(change.current.body) if change.current else 0)
