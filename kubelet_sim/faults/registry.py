"""Which faults are in force, for everybody who plays nodes and pods. It costs nothing while there are none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubelet_sim.faults import influence
from kubelet_sim.faults.definition import NODE_DOWN, NODE_PARTITIONED, NODE_SLOW
from kubelet_sim.faults.influence import Influence
from kubelet_sim.faults.model import Fault, order
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject
from kubeloop.client.informer import Informer


class Faults:
    def __init__(self, nodes: Informer) -> None:
        self._nodes = nodes
        self._active: tuple[Fault, ...] = ()  # in the order in which they came into force
        self._rebooted: dict[str, datetime] = {}  # node -> when it was last up again

    def __bool__(self) -> bool:
        return bool(self._active)

    def active(self) -> tuple[Fault, ...]:
        return self._active

    def put(self, faults: Iterable[Fault]) -> None:
        """These are in force from now on."""
        self._active = tuple(sorted(faults, key=order))

    def is_cut_off(self, node: str) -> bool:
        """Whether nothing that the node says arrives."""
        return any(fault.type in (NODE_DOWN, NODE_PARTITIONED) for fault in self._of_node(node))

    def is_down(self, node: str) -> bool:
        return any(fault.type == NODE_DOWN for fault in self._of_node(node))

    def unreachable(self, node: str) -> str:
        """What a client is told that dials the node, as Go says it; "" where somebody answers."""
        if not self.is_cut_off(node):
            return ""
        return "connect: no route to host" if self.is_down(node) else "i/o timeout"

    def delay_seconds(self, node: str) -> float:
        """How late everything is that the node does."""
        return max((fault.delay_seconds for fault in self._of_node(node) if fault.type == NODE_SLOW), default=0.0)

    def on_pod(self, pod: ReadOnlyObject) -> Influence | None:
        return influence.on_pod(self._active, pod)

    def as_used(self, pod: ReadOnlyObject) -> ReadOnlyObject:
        """The pod with the memory that it uses under the faults."""
        return influence.as_used(self._active, pod) if self._active else pod

    def reboot(self, node: str, now: datetime) -> None:
        """It was down and is up again."""
        self._rebooted[node] = now

    def rebooted_at(self, node: str) -> datetime | None:
        return self._rebooted.get(node)

    def _of_node(self, node: str) -> list[Fault]:
        if not self._active:
            return []
        obj = self._nodes.get(ObjectKey("", node))
        return [fault for fault in self._active if fault.hits_node(node, obj)]
