"""Watches of a resource that is served no more."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage.interface import Change, Key, Stored
from apiserver.watch.broadcast import Broadcast, Scope, TooSlow, Watcher


def a_change(resource: str, revision: int) -> Change:
    key = Key(resource, "default", "a")
    return Change(revision, key, Stored(key, revision, b"", {}, {}), None)


def test_what_waits_is_still_delivered() -> None:
    """A watch that is ended hands out what it holds, then says so; watches of other resources go on."""
    broadcast = Broadcast()
    widgets = Watcher(broadcast, Scope("widgets.example.com"), 0, max_pending=10)
    pods = Watcher(broadcast, Scope("pods"), 0, max_pending=10)
    broadcast.add(widgets)
    broadcast.add(pods)

    broadcast.publish([a_change("widgets.example.com", 1)])
    broadcast.end("widgets.example.com")
    broadcast.publish([a_change("widgets.example.com", 2), a_change("pods", 3)])

    assert [1] == [change.revision for change in asyncio.run(_next(widgets))]
    with pytest.raises(TooSlow):
        asyncio.run(_next(widgets))
    assert [3] == [change.revision for change in asyncio.run(_next(pods))]


async def _next(watcher: Watcher) -> list[Change]:
    return list(await watcher.next_batch())
