"""Planning a group commit: which of the waiting writes hold, and what they change. Pure.

The revision log calls `plan` with everything that waits, gives the batch to its journal, and only after the journal
committed it takes the batch over into memory. So a commit that fails leaves nothing to undo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.storage.interface import Change, Key, KeyExists, RevisionMismatch, StorageError, Stored, Write


class Record(NamedTuple):
    """One row of the log. `link` is the revision of the version it replaced, of those the log still has."""

    change: Change
    link: int | None


@dataclass(slots=True)
class Batch:
    """What one commit does."""

    head: int  # the newest revision once this is committed
    outcomes: list[Change | StorageError] = field(default_factory=list)  # one a write, in the order of the writes
    records: list[Record] = field(default_factory=list)  # revision order
    current: dict[Key, Stored | None] = field(default_factory=dict)  # the state after the batch, of the keys it touches
    forgotten: set[int] = field(default_factory=set)  # revisions the log drops, some of them never written
    passing: dict[Key, int | None] = field(default_factory=dict)  # see plan


def plan(
    writes: Sequence[Write],
    current: Callable[[Key], Stored | None],
    passing: Mapping[Key, int],
    head: int,
    compacted: int,
) -> Batch:
    """Check each compare-and-swap in order, on the state the ones before it leave, and number those that hold.

    `passing` names the keys whose current version the log may forget once it is replaced, each with the revision its
    successor then links to. A version is passing if it was written with keep_history=False and selectors cannot tell
    it from the version before it: so what any selector sees of the log is the same with and without it. Nothing up to
    `compacted` is forgotten: compaction left one version of each key there, which the log goes on from.
    """
    batch = Batch(head)
    for write in writes:
        key = write.key
        previous = batch.current[key] if key in batch.current else current(key)
        refusal = _refusal(write, previous)
        if refusal is not None:
            batch.outcomes.append(refusal)
            continue
        batch.head += 1
        stored = _stored(write, previous, batch.head)
        change = Change(batch.head, stored.key if stored else key, stored, previous)
        batch.outcomes.append(change)
        batch.current[key] = stored
        batch.records.append(Record(change, _link(batch, write, change, passing, compacted)))
    return batch


def _refusal(write: Write, previous: Stored | None) -> StorageError | None:
    if write.expected == 0 and previous is not None:
        return KeyExists(f"{write.key.resource} {write.key.namespace}/{write.key.name} exists")
    if write.expected and (previous is None or previous.revision != write.expected):
        return RevisionMismatch(previous)
    if write.value is None and previous is None:
        return RevisionMismatch(None)
    return None


def _stored(write: Write, previous: Stored | None, revision: int) -> Stored | None:
    """The new version. It shares key, labels and fields with the one before it where they are equal: less memory."""
    value = write.value
    if value is None:
        return None
    if previous is None:
        return Stored(write.key, revision, value.body, value.labels, value.fields)
    labels = previous.labels if previous.labels == value.labels else value.labels
    fields = previous.fields if previous.fields == value.fields else value.fields
    return Stored(previous.key, revision, value.body, labels, fields)


def _link(batch: Batch, write: Write, change: Change, passing: Mapping[Key, int], compacted: int) -> int | None:
    """Which version the new record links to, and what the log may forget now and later."""
    key, previous, current = change.key, change.previous, change.current
    before = batch.passing[key] if key in batch.passing else passing.get(key)
    batch.passing[key] = None
    if previous is None:
        return None
    link = previous.revision
    is_passing = (
        not write.keep_history
        and current is not None
        and current.labels is previous.labels
        and current.fields is previous.fields
    )
    if is_passing:
        if before is not None and link > compacted:
            batch.forgotten.add(link)
            link = before
        batch.passing[key] = link
    return link
