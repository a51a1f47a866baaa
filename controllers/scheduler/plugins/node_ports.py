"""NodePorts: a host port can be had once a node, address and protocol."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from controllers.scheduler.events import DELETE, NODE_ADD, POD, ClusterEvent, Hint, RegisteredEvent
from controllers.scheduler.interface import CycleState, FilterPlugin, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject

REFUSED = Status(Code.UNSCHEDULABLE, ("node(s) didn't have free ports for the requested pod ports",), "NodePorts")


class NodePorts(PreFilterPlugin, FilterPlugin):
    NAME = "NodePorts"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        return None if pod.host_ports else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return REFUSED if any(node.has_port_conflict(*port) for port in pod.host_ports) else None

    def filter_question(self, pod: PodInfo) -> Hashable:
        return pod.host_ports

    def events(self) -> Sequence[RegisteredEvent]:
        return (RegisteredEvent(ClusterEvent(POD, DELETE), _after_deletion), RegisteredEvent(NODE_ADD))


def _after_deletion(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """Only a placed pod that had one of the wanted ports."""
    if old is None:
        return Hint.SKIP
    gone = PodInfo(old)
    if not gone.node_name and not gone.nominated_node_name:
        return Hint.SKIP
    freed = NodeInfo(gone.node_name)
    freed.add_pod(gone)
    return Hint.QUEUE if any(freed.has_port_conflict(*port) for port in pod.host_ports) else Hint.SKIP
