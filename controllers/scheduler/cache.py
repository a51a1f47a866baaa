"""The cache: every node with every pod on it, including the pods that are only assumed to be there.

A pod is assumed the moment a node is chosen, so that the next pod sees the room as taken while the binding is still on
its way. The informer's news of the binding confirms it; a failed binding forgets it. There is no expiry: between the
two nothing else can happen (as in pkg/scheduler/backend/cache, v1.36).

    (absent) --assume--> assumed --add (informer)--> added --remove--> (absent)
                           |--forget--> (absent)
"""

from __future__ import annotations

from collections import OrderedDict

from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot, zone_of, zones_in_turn
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, uid_of


class Cache:
    """Not safe across threads; no method awaits, so a scheduling cycle sees no half-done change."""

    def __init__(self) -> None:
        # Ordered by last change, newest last: `update` walks it from the end and stops at what the snapshot knows.
        self._nodes: OrderedDict[str, NodeInfo] = OrderedDict()
        self._order: dict[str, str] = {}  # known nodes in the order they came: their zone
        self._pods: dict[str, PodInfo] = {}  # by uid, each as it counts on its node
        self._assumed: set[str] = set()
        self._order_version = 1

    @property
    def node_count(self) -> int:
        return len(self._order)

    @property
    def pod_count(self) -> int:
        return len(self._pods)

    @property
    def assumed_count(self) -> int:
        return len(self._assumed)

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def get_pod(self, uid: str) -> PodInfo | None:
        return self._pods.get(uid)

    def assume_pod(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count the pod on the node; ValueError if it is known already."""
        if pod.uid in self._pods:
            raise ValueError(f"pod {pod.key} is in the cache already")
        node = self._nodes.get(node_name)
        placed = pod.on_node(node_name, node.labels if node is not None else {})
        self._put(placed)
        self._assumed.add(pod.uid)
        return placed

    def forget_pod(self, uid: str) -> bool:
        """Take an assumed pod back. False if it was confirmed or removed meanwhile."""
        if uid not in self._assumed:
            return False
        self._take(uid)
        return True

    def add_pod(self, pod: PodInfo) -> None:
        """The informer saw the pod on its node: it is confirmed, wherever it was assumed to be."""
        if pod.uid in self._pods:
            self._take(pod.uid)
        self._put(pod)

    def follow_pod(self, pod: ReadOnlyObject) -> bool:
        """The informer saw the pod on its node: it is confirmed there, if in nothing that counts it differs from what
        is known. Else False, and it has to be added anew."""
        known = self._pods.get(uid_of(pod))
        if known is None or not known.follow(pod):
            return False
        self._assumed.discard(known.uid)
        return True

    def remove_pod(self, uid: str) -> None:
        """The informer saw it go (or end)."""
        if uid in self._pods:
            self._take(uid)

    def set_node(self, node: ReadOnlyObject) -> None:
        """The informer saw the node, new or changed."""
        name, zone = name_of(node), zone_of(node)
        if self._order.get(name) != zone:
            self._order[name] = zone
            self._order_version += 1
        info = self._node(name)
        info.set_node(node)
        self._nodes.move_to_end(name)

    def remove_node(self, name: str) -> None:
        """The informer saw it go; its pods are known until they go too, in whichever order the news comes."""
        if self._order.pop(name, None) is None:
            return
        self._order_version += 1
        info = self._nodes[name]
        info.remove_node()
        if info.pods:
            self._nodes.move_to_end(name)
        else:
            del self._nodes[name]

    def update(self, snapshot: Snapshot) -> None:
        """Bring the snapshot up to date, copying only nodes that changed since it last was."""
        changed: list[NodeInfo] = []
        for name in reversed(self._nodes):
            info = self._nodes[name]
            if info.generation <= snapshot.generation:
                break
            changed.append(info)
        if changed:
            snapshot.generation = changed[0].generation
        copies = {info.name: info.copy() for info in changed if info.node is not None}
        if snapshot.order_version != self._order_version:
            current = (copies.get(name) or snapshot.get(name) for name in self._order)
            snapshot.replace_all(zones_in_turn(info for info in current if info is not None))
            snapshot.order_version = self._order_version
            return
        for info in copies.values():
            snapshot.replace(info)

    def _put(self, pod: PodInfo) -> None:
        self._pods[pod.uid] = pod
        self._node(pod.node_name).add_pod(pod)
        self._nodes.move_to_end(pod.node_name)

    def _take(self, uid: str) -> None:
        pod = self._pods.pop(uid)
        self._assumed.discard(uid)
        info = self._nodes[pod.node_name]
        info.remove_pod(uid)
        if info.node is None and not info.pods:
            del self._nodes[pod.node_name]
        else:
            self._nodes.move_to_end(pod.node_name)

    def _node(self, name: str) -> NodeInfo:
        info = self._nodes.get(name)
        if info is None:
            info = self._nodes[name] = NodeInfo(name)
        return info
