"""Which pods are bound to which node, kept up from the changes of the watch cache.

Made for the Node authorizer (`auth/nodes/`), which asks only when a node does something. Nothing is kept before the
first question; from then on a change of a pod costs one entry in a list, and the next question works the list off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apiserver.storage.interface import Key, Stored
from apiserver.watch.broadcast import TooSlow, Watcher
from apiserver.watch.cache import WatchCache

_PODS = "pods"


class NodePods:
    """Call it with a node's name. As many entries as there are bound pods."""

    def __init__(self, cache: WatchCache) -> None:
        self._cache = cache
        self._watcher: Watcher | None = None
        self._by_node: dict[str, dict[Key, None]] = {}
        self._node_of: dict[Key, str] = {}

    def __call__(self, node: str) -> Collection[Key]:
        """The pods bound to a node, as the cache has them now."""
        self._catch_up()
        return self._by_node.get(node, {}).keys()

    def _catch_up(self) -> None:
        if self._watcher is None:
            self._begin()
            return
        try:
            changes = self._watcher.waiting()
        except TooSlow:  # nobody asked for long, or the cache began anew
            self._begin()
            return
        for change in changes:
            self._put(change.key, change.current)

    def _begin(self) -> None:
        """All pods anew. No await between the list and the watch: no change is missed."""
        self._by_node, self._node_of = {}, {}
        pods: Sequence[Stored] = self._cache.list(_PODS)
        self._watcher = self._cache.watch(_PODS)
        for stored in pods:
            self._put(stored.key, stored)

    def _put(self, key: Key, stored: Stored | None) -> None:
        node = stored.fields.get("spec.nodeName", "") if stored is not None else ""
        before = self._node_of.get(key, "")
        if node == before:
            return
        if before:
            pods = self._by_node[before]
            del pods[key], self._node_of[key]
            if not pods:
                del self._by_node[before]
        if node:
            self._by_node.setdefault(node, {})[key] = None
            self._node_of[key] = node
