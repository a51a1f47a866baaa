"""What makes a revision log last: the floor below `log.RevisionLog`, one implementation per kind of store.

A journal blocks and knows nothing of asyncio. All its methods are called one at a time (by the log's executor), so it
needs no lock of its own. Every failure is a StorageUnavailable that leaves the journal as it was and usable again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from apiserver.storage.batch import Batch
from apiserver.storage.interface import Change, Key, StorageUnavailable, Stored


class Recovered(NamedTuple):
    """What a journal holds when it is opened."""

    head: int
    compacted: int
    current: Sequence[Stored]


class Busy(StorageUnavailable):
    """Somebody else holds the store; who waits may have it."""


class Journal(Protocol):
    is_quick: bool  # a commit waits for no disk and no network, so the event loop may do a small one by itself

    def open(self) -> Recovered: ...

    def close(self) -> None: ...

    def commit(self, batch: Batch, *, waits: bool = True) -> None:
        """Write the batch so that it survives the process being killed, all of it or nothing.

        waits: for another program that holds the store, for some seconds; else Busy is raised at once.
        """
        ...

    def read(self, after: int, limit: int) -> Sequence[Change]:
        """The next changes with what they replaced, in revision order."""
        ...

    def versions_at(self, resource: str, revision: int) -> Mapping[Key, Stored | None]:
        """For each key of the resource changed after `revision`, what it was then (None: absent)."""
        ...

    def compact(self, compacted: int, revision: int) -> None:
        """Move the compaction point from `compacted` to `revision`, keeping the newest version of each live key."""
        ...

    def trim(self) -> bool:
        """Give a little unused room back. False: there is not enough of it to be worth more."""
        ...
