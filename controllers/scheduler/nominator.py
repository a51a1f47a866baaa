"""Which waiting pods have a node promised to them by preemption; filters count them as if they ran there."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.scheduler.pod_info import PodInfo


class Nominator:
    """Invariant: `_by_node` and `_node_of` say the same."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, PodInfo]] = {}  # node: uid: pod
        self._node_of: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not self._node_of

    def node_of(self, uid: str) -> str:
        return self._node_of.get(uid, "")

    def has_promised(self, node_name: str) -> bool:
        return node_name in self._by_node

    def on_node(self, node_name: str) -> Sequence[PodInfo]:
        return list(self._by_node.get(node_name, {}).values())

    def add(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Promise it `node_name`; None takes what its status says, "" takes the promise back."""
        self.remove(pod.uid)
        node_name = pod.nominated_node_name if node_name is None else node_name
        if node_name:
            self._node_of[pod.uid] = node_name
            self._by_node.setdefault(node_name, {})[pod.uid] = pod

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """The pod changed. A promise not yet written into either status outlives the change."""
        promised = self.node_of(old.uid)
        is_unwritten = promised and not old.nominated_node_name and not new.nominated_node_name
        self.remove(old.uid)
        self.add(new, promised if is_unwritten else None)

    def remove(self, uid: str) -> None:
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = self._by_node[node_name]
        del pods[uid]
        if not pods:
            del self._by_node[node_name]
