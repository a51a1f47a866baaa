"""Snapshot: the cluster as it is while one pod is scheduled.

It is brought up to date before each pod by exchanging the nodes that changed since (cache.Cache.update), never rebuilt:
with a thousand nodes and one pod placed, one NodeInfo is copied. Beside the nodes it keeps what lets plugins skip their
work: which nodes have taints at all, which have pods with affinity, who has which image; and what nodes answered before
(columns.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from controllers.scheduler.columns import Ask, Columns, Shares, T
from controllers.scheduler.node_info import NodeInfo
from kubeloop.apimachinery.meta import ReadOnlyObject

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


class Snapshot:
    """Invariant: `nodes` holds only NodeInfos with a node, and the sets below say exactly what is true of them.

    A NodeInfo knows its position: two snapshots can share it only if it has the same position in both.
    """

    def __init__(self, nodes: Iterable[NodeInfo] = ()) -> None:
        self.generation = 0  # of the newest change in it
        self.order_version = 0  # of the cache's order of nodes
        self.nodes: list[NodeInfo] = []
        self._positions: dict[str, int] = {}
        self._columns = Columns(())
        self.with_affinity: dict[str, NodeInfo] = {}
        self.with_anti_affinity: dict[str, NodeInfo] = {}
        self.unschedulable: set[str] = set()
        self.repelling: set[str] = set()
        self.unwelcoming: set[str] = set()
        self.images: dict[str, dict[str, int]] = {}  # image name: node name: size in bytes
        self.replace_all(list(nodes))

    def get(self, name: str) -> NodeInfo | None:
        position = self._positions.get(name)
        return None if position is None else self.nodes[position]

    def answers(self, question: Hashable, ask: Ask[T], nodes: Sequence[NodeInfo]) -> list[T]:
        """What `nodes`, all of this snapshot, answer; `ask` is for those that have not or have changed since.

        An answer may depend on the node and the question alone.
        """
        return self._columns.answers(question, ask, nodes)

    def labels(self, key: str, nodes: Sequence[NodeInfo]) -> list[str | None]:
        """The value each of `nodes` has for a label."""
        return self.answers(("label", key), lambda asked: [node.labels.get(key) for node in asked], nodes)

    def totals(self, question: Hashable, ask: Ask[Shares]) -> dict[Any, int]:
        """What all nodes answer, added up by domain: see Columns.totals."""
        return self._columns.totals(question, ask)

    def replace_all(self, nodes: Sequence[NodeInfo]) -> None:
        """Nodes came, went or moved to another zone: take these, in this order."""
        for node in self.nodes:
            self._forget(node)
            self._forget_images(node)
        self.nodes = list(nodes)
        self._positions = {node.name: position for position, node in enumerate(self.nodes)}
        self._columns = Columns(self.nodes)
        for position, node in enumerate(self.nodes):
            node.position = position
            self._note(node)
            self._note_images(node)

    def replace(self, node: NodeInfo) -> None:
        """One node that is already here, in its new state."""
        position = self._positions[node.name]
        before = self.nodes[position]
        self._forget(before)
        if before.images is not node.images:
            self._forget_images(before)
            self._note_images(node)
        self.nodes[position] = node
        node.position = position
        self._columns.changed(position)
        self._note(node)

    def _note(self, node: NodeInfo) -> None:
        if node.pods_with_affinity:
            self.with_affinity[node.name] = node
        if node.pods_with_anti_affinity:
            self.with_anti_affinity[node.name] = node
        if node.is_unschedulable:
            self.unschedulable.add(node.name)
        if node.repelling_taints:
            self.repelling.add(node.name)
        if node.unwelcoming_taints:
            self.unwelcoming.add(node.name)

    def _note_images(self, node: NodeInfo) -> None:
        for image, size in node.images.items():
            self.images.setdefault(image, {})[node.name] = size

    def _forget(self, node: NodeInfo) -> None:
        self.with_affinity.pop(node.name, None)
        self.with_anti_affinity.pop(node.name, None)
        self.unschedulable.discard(node.name)
        self.repelling.discard(node.name)
        self.unwelcoming.discard(node.name)

    def _forget_images(self, node: NodeInfo) -> None:
        for image in node.images:
            holders = self.images[image]
            del holders[node.name]
            if not holders:
                del self.images[image]


def zone_of(node: ReadOnlyObject) -> str:
    """Region and zone in one, as the node tree groups them."""
    labels = (node.get("metadata") or {}).get("labels") or {}
    region, zone = labels.get(REGION, ""), labels.get(ZONE, "")
    return f"{region}:{zone}" if region or zone else ""


def zones_in_turn(nodes: Iterable[NodeInfo]) -> list[NodeInfo]:
    """One node of each zone after the other, so that a search that stops early has seen every zone."""
    by_zone: dict[str, list[NodeInfo]] = {}
    for node in nodes:
        if node.node is not None:
            by_zone.setdefault(zone_of(node.node), []).append(node)
    longest = max(map(len, by_zone.values()), default=0)
    return [zone[i] for i in range(longest) for zone in by_zone.values() if i < len(zone)]
