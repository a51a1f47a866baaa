"""The entries of managedFields: their order, their number, and what a request may do to them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.patch.server_side_apply import managers
from apiserver.patch.server_side_apply.managers import APPLY, UPDATE, Entry, Managed, identity


def updaters(count: int) -> Managed:
    return {
        identity(f"m{i:02}", UPDATE, "v1", ""): Entry("v1", {f"f:{i:02}": {}}, f"2024-01-01T00:00:{i:02}Z")
        for i in range(count)
    }


def test_appliers_come_first_then_the_oldest() -> None:
    """Entries are sorted by operation, by the second of their time (none counts as the oldest), then by name."""
    managed: Managed = {
        identity("b", UPDATE, "v1", ""): Entry("v1", {"f:x": {}}, "2024-01-01T00:00:01Z"),
        identity("a", UPDATE, "v1", ""): Entry("v1", {"f:x": {}}, "2024-01-01T00:00:02Z"),
        identity("z", UPDATE, "v1", ""): Entry("v1", {"f:x": {}}),
        identity("c", APPLY, "v1", ""): Entry("v1", {"f:x": {}}, "2024-01-01T00:00:09Z"),
    }

    assert ["c", "z", "b", "a"] == [entry["manager"] for entry in managers.encode(managed)]


def test_what_is_encoded_decodes_to_the_same() -> None:
    """Neither versions, subresources nor times are lost on the way."""
    managed = updaters(2) | {identity("s", UPDATE, "v1", "status"): Entry("v1", {"f:status": {}}, "")}

    assert managed == managers.decode(managers.encode(managed))


def test_the_oldest_of_too_many_updaters_are_merged() -> None:
    """An eleventh updater makes the two oldest one, with the fields of both and the time of the younger."""
    capped = managers.capped(updaters(11))

    ancient = capped[identity("ancient-changes", UPDATE, "v1", "")]
    assert (10, Entry("v1", {"f:00": {}, "f:01": {}}, "2024-01-01T00:00:01Z")) == (len(capped), ancient)


def test_ten_updaters_and_any_number_of_appliers_are_kept() -> None:
    """Only updates are counted."""
    managed = updaters(10) | {identity(f"a{i}", APPLY, "v1", ""): Entry("v1", {"f:x": {}}) for i in range(20)}

    assert managed is managers.capped(managed)


@pytest.mark.parametrize(
    ("sent", "reset"), [([], True), ([{}], True), ([{}, {}], False), (None, False), ([{"manager": "a"}], False)]
)
def test_an_empty_list_or_entry_asks_to_forget_all(sent: Any, reset: bool) -> None:
    """An empty list, or a list of one empty entry, resets; nothing else does."""
    assert reset == managers.is_reset(sent)


@pytest.mark.parametrize(
    "entry",
    [
        {"operation": "Delete", "apiVersion": "v1", "fieldsType": "FieldsV1"},
        {"operation": "Apply", "fieldsType": "FieldsV1"},
        {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"},
        {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": 1}},
    ],
)
def test_entries_a_client_made_up_are_checked(entry: Any) -> None:
    """Operation, version, type and fields must be right."""
    with pytest.raises(managers.UnreadableEntries):
        managers.decode_foreign([entry])


def test_only_times_are_not_a_difference() -> None:
    """Entries that differ in times alone are the same but for times; equal ones, or others, are not."""
    one = [{"manager": "a", "time": "1"}]
    later, other = [{"manager": "a", "time": "2"}], [{"manager": "b", "time": "1"}]

    assert (True, False, False) == tuple(managers.same_but_times(one, entries) for entries in (later, one, other))
