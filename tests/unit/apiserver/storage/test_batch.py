"""Planning a group commit."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.storage.batch import plan
from apiserver.storage.interface import Change, Key, RevisionMismatch, Stored, Value, Write

KEY = Key("leases", "default", "web")


def a_stored(revision: int, **labels: str) -> Stored:
    return Stored(KEY, revision, b"old", labels, {})


def a_write(body: bytes = b"new", keep_history: bool = True, **labels: str) -> Write:
    return Write(KEY, None, Value(body, labels, {}), keep_history)


def looking_at(*stored: Stored) -> Mapping[Key, Stored]:
    return {found.key: found for found in stored}


def test_versions_share_what_did_not_change() -> None:
    """Key, labels and fields of a new version are the objects of the version before, where equal."""
    before = a_stored(1, app="web")

    batch = plan([a_write(app="web")], looking_at(before).get, {}, 1, 0)

    (change,) = batch.outcomes
    assert isinstance(change, Change) and change.current is not None
    assert before.labels is change.current.labels
    assert before.key is change.current.key is change.key


def test_refused_writes_alone_make_no_records() -> None:
    """Nothing is to be committed, the head stays."""
    batch = plan([Write(KEY, 7, None)], looking_at(a_stored(1)).get, {}, 1, 0)

    assert ([], 1) == (batch.records, batch.head)
    assert [RevisionMismatch] == [type(outcome) for outcome in batch.outcomes]


def test_a_passing_version_is_forgotten_when_it_is_replaced_by_another() -> None:
    """The record then links to what the forgotten one linked to, so nothing links to what is gone."""
    batch = plan([a_write(keep_history=False)], looking_at(a_stored(5)).get, {KEY: 2}, 5, 0)

    assert {5} == batch.forgotten
    assert [2] == [record.link for record in batch.records]
    assert {KEY: 2} == batch.passing


def test_a_version_written_to_last_is_never_forgotten() -> None:
    """keep_history=True ends the chain: the version it replaces stays, and so does its own."""
    batch = plan([a_write(keep_history=True), a_write(keep_history=False)], looking_at(a_stored(5)).get, {KEY: 2}, 5, 0)

    assert set() == batch.forgotten
    assert [5, 6] == [record.link for record in batch.records]
    assert {KEY: 6} == batch.passing


def test_a_change_of_labels_is_never_forgotten() -> None:
    """A heartbeat that changes what selectors see keeps the version before it and its own."""
    batch = plan(
        [a_write(keep_history=False, on="yes"), a_write(keep_history=False, on="yes")],
        looking_at(a_stored(5)).get,
        {KEY: 2},
        5,
        0,
    )

    assert set() == batch.forgotten
    assert [5, 6] == [record.link for record in batch.records]


def test_what_compaction_left_is_not_forgotten() -> None:
    """A passing version at or before the compaction point stays, and the next one links to it."""
    batch = plan([a_write(keep_history=False)], looking_at(a_stored(5)).get, {KEY: 2}, 5, 5)

    assert set() == batch.forgotten
    assert [5] == [record.link for record in batch.records]
    assert {KEY: 5} == batch.passing
