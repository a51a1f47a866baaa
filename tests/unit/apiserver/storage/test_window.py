"""The bounded window of recent changes."""

from __future__ import annotations

from apiserver.storage.interface import Change, Key, Stored
from apiserver.storage.window import Window


def changes(*revisions: int, size: int = 10) -> list[Change]:
    key = Key("pods", "default", "web")
    return [Change(revision, key, Stored(key, revision, b"x" * size, {}, {}), None) for revision in revisions]


def revisions_after(window: Window, revision: int, limit: int | None = None) -> list[int]:
    return [change.revision for change in window.after(revision, limit)]


def test_it_answers_what_is_newer() -> None:
    """after(r) is everything newer than r, at most `limit`, also where revisions have gaps."""
    window = Window(3, max_changes=10, max_bytes=10**6)

    window.extend(changes(4, 5, 8, 9))

    assert [4, 5, 8, 9] == revisions_after(window, 3)
    assert [8, 9] == revisions_after(window, 6)
    assert [5, 8] == revisions_after(window, 4, limit=2)
    assert [] == revisions_after(window, 9)
    assert [] == revisions_after(window, 50)


def test_the_oldest_leave_when_there_are_too_many() -> None:
    """Beyond max_changes the start moves up to the newest change that left."""
    window = Window(0, max_changes=3, max_bytes=10**6)

    for revision in range(1, 5000):
        window.extend(changes(revision))

    assert (4996, 3) == (window.start, len(window))
    assert [4997, 4998, 4999] == revisions_after(window, 4996)
    assert [4999] == revisions_after(window, 4998)


def test_the_oldest_leave_when_they_are_too_large() -> None:
    """Bytes bound the window as well as numbers, but the newest change always stays."""
    window = Window(0, max_changes=100, max_bytes=5_000)

    window.extend(changes(1, 2, 3, 4, size=1_000))
    few = revisions_after(window, window.start)
    window.extend(changes(5, size=100_000))

    assert [2, 3, 4] == few
    assert (4, [5]) == (window.start, revisions_after(window, window.start))
