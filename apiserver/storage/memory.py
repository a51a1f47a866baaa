"""A revision log that lives as long as its process: for in-process clusters, tests and `--storage=memory`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from apiserver.storage.batch import Batch, Record
from apiserver.storage.executor import InlineExecutor
from apiserver.storage.interface import Change, Key, Stored
from apiserver.storage.journal import Recovered
from apiserver.storage.log import RevisionLog


class MemoryStorage(RevisionLog):
    """The same log without a database. It grows with its history until it is compacted."""

    def __init__(self) -> None:
        super().__init__(MemoryJournal(), InlineExecutor())


class MemoryJournal:
    """The records by revision. Closing keeps them, so the same journal can be opened again."""

    is_quick = True

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._head = self._compacted = 0

    def open(self) -> Recovered:
        current: dict[Key, Stored | None] = {}
        for record in self._records.values():
            current[record.change.key] = record.change.current
        return Recovered(self._head, self._compacted, [stored for stored in current.values() if stored is not None])

    def close(self) -> None:
        pass

    def commit(self, batch: Batch, *, waits: bool = True) -> None:
        self._records.update((record.change.revision, record) for record in batch.records)
        self._head = batch.head
        self._drop(batch.forgotten)

    def read(self, after: int, limit: int) -> Sequence[Change]:
        return [self._change(record) for record in islice(self._between(after, self._head), limit)]

    def versions_at(self, resource: str, revision: int) -> Mapping[Key, Stored | None]:
        versions: dict[Key, Stored | None] = {}
        for record in self._between(revision, self._head):
            if record.change.key.resource == resource:
                versions.setdefault(record.change.key, self._linked(record))
        return versions

    def compact(self, compacted: int, revision: int) -> None:
        passed = list(self._between(compacted, revision))
        self._drop(record.link for record in passed if record.link is not None)
        self._drop(record.change.revision for record in passed if record.change.current is None)
        self._compacted = max(self._compacted, revision)

    def trim(self) -> bool:
        return False

    def _between(self, after: int, last: int) -> Iterator[Record]:
        """The records newer than `after` up to `last`; dropped ones leave holes."""
        found = (self._records.get(revision) for revision in range(after + 1, last + 1))
        return (record for record in found if record is not None)

    def _drop(self, revisions: Iterable[int]) -> None:
        for revision in revisions:
            self._records.pop(revision, None)

    def _change(self, record: Record) -> Change:
        change = record.change
        return Change(change.revision, change.key, change.current, self._linked(record))

    def _linked(self, record: Record) -> Stored | None:
        return self._records[record.link].change.current if record.link is not None else None
