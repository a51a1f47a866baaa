"""Which pods are bound to which node, as the watch cache goes on."""

from __future__ import annotations

import asyncio

from apiserver.storage.interface import Change, Key, Stored
from apiserver.storage.memory import MemoryStorage
from apiserver.watch.cache import WatchCache
from apiserver.watch.node_pods import NodePods


def a_key(name: str) -> Key:
    return Key("pods", "ns", name)


def bound(name: str, node: str, revision: int = 1) -> Stored:
    return Stored(a_key(name), revision, b"{}", {}, {"spec.nodeName": node})


def change(revision: int, name: str, node: str | None) -> Change:
    current = bound(name, node, revision) if node is not None else None
    return Change(revision, a_key(name), current, None)


class World:
    def __init__(self, **bounds: int) -> None:
        self.cache = WatchCache(MemoryStorage(), **bounds)
        self.cache.replace(2, [bound("a", "n1"), bound("b", "")])
        self.pods = NodePods(self.cache)

    def names(self, node: str) -> list[str]:
        return [key.name for key in self.pods(node)]


def test_pods_come_to_a_node_and_go() -> None:
    """Those that were there when it was first asked, then what changes: bound, bound anew, deleted."""

    async def check() -> None:
        world = World()
        assert ["a"] == world.names("n1")

        world.cache.apply([change(3, "b", "n1"), change(4, "c", "n2")])
        assert (["a", "b"], ["c"]) == (world.names("n1"), world.names("n2"))

        world.cache.apply([change(5, "a", None), change(6, "c", None)])
        assert (["b"], []) == (world.names("n1"), world.names("n2"))

    asyncio.run(check())


def test_nothing_is_missed_when_more_changes_than_it_keeps() -> None:
    """Nobody asked for longer than the list of changes goes: all pods are looked at anew."""

    async def check() -> None:
        world = World(watcher_changes=2)
        assert ["a"] == world.names("n1")

        world.cache.apply([change(3 + i, f"p{i}", "n2") for i in range(5)])

        assert [f"p{i}" for i in range(5)] == world.names("n2")

    asyncio.run(check())


def test_a_cache_that_begins_anew_is_followed() -> None:
    """Pods that are gone from the new snapshot are gone here."""

    async def check() -> None:
        world = World()
        assert ["a"] == world.names("n1")

        world.cache.replace(9, [bound("z", "n1", 9)])

        assert ["z"] == world.names("n1")

    asyncio.run(check())


def test_who_never_asks_pays_nothing() -> None:
    """No watcher is there before the first question."""
    assert 0 == len(World().cache.broadcast)
