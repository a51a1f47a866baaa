"""A server that stops ends its watches, and none begins anew."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage.memory import MemoryStorage
from apiserver.watch.broadcast import TooSlow
from apiserver.watch.cache import WatchCache


def test_a_watch_that_begins_after_the_close_ends_at_once():
    """A client that watches again on a kept connection does not hold the stopping server up."""
    cache = WatchCache(MemoryStorage())

    cache.broadcast.close()
    watcher = cache.watch("pods")

    with pytest.raises(TooSlow):
        asyncio.run(watcher.next_batch())
