"""Which event a change is to a watcher with selectors. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from apiserver.storage.interface import Change, Stored

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

# Whether an object's labels and fields satisfy the watcher's selectors.
Predicate = Callable[[Stored], bool]


def event_type(change: Change, matches: Predicate | None = None) -> EventType | None:
    """What the watcher is told: an object that comes to match is ADDED, one that no longer does is DELETED.

    None: the change is none of its business. Without a predicate everything matches.
    """
    was_there = change.previous is not None and (matches is None or matches(change.previous))
    is_there = change.current is not None and (matches is None or matches(change.current))
    if is_there:
        return "MODIFIED" if was_there else "ADDED"
    return "DELETED" if was_there else None
