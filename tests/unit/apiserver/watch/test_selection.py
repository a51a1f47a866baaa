"""Which event a change is to a watcher with selectors."""

from __future__ import annotations

import pytest

from apiserver.storage.interface import Change, Key, Stored
from apiserver.watch.selection import event_type

KEY = Key("pods", "default", "web")
IN, OUT, ABSENT = "in", "out", None


def a_change(before: str | None, after: str | None) -> Change:
    previous = Stored(KEY, 1, b"", {"side": before}, {}) if before else None
    current = Stored(KEY, 2, b"", {"side": after}, {}) if after else None
    return Change(2, KEY, current, previous)


def is_in(stored: Stored) -> bool:
    return stored.labels["side"] == IN


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ABSENT, IN, "ADDED"),
        (ABSENT, OUT, None),
        (IN, IN, "MODIFIED"),
        (IN, OUT, "DELETED"),
        (OUT, IN, "ADDED"),
        (OUT, OUT, None),
        (IN, ABSENT, "DELETED"),
        (OUT, ABSENT, None),
    ],
)
def test_a_selector_sees_objects_come_and_go(before: str | None, after: str | None, expected: str | None) -> None:
    """An object that comes to match is ADDED, one that no longer does is DELETED, one outside is no event."""
    assert expected == event_type(a_change(before, after), is_in)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(ABSENT, OUT, "ADDED"), (IN, OUT, "MODIFIED"), (OUT, ABSENT, "DELETED")],
)
def test_without_a_selector_everything_matches(before: str | None, after: str | None, expected: str) -> None:
    """Created, modified and deleted are ADDED, MODIFIED and DELETED."""
    assert expected == event_type(a_change(before, after))
