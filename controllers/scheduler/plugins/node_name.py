"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from controllers.scheduler.events import NODE_ADD, RegisteredEvent
from controllers.scheduler.interface import CycleState, FilterPlugin, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status

REFUSED = Status(Code.UNRESOLVABLE, ("node(s) didn't match the requested node name",), "NodeName")


class NodeName(PreFilterPlugin, FilterPlugin):
    NAME = "NodeName"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        return None if pod.node_name else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if pod.node_name == node.name else REFUSED

    def filter_question(self, pod: PodInfo) -> Hashable:
        return pod.node_name

    def events(self) -> Sequence[RegisteredEvent]:
        return (RegisteredEvent(NODE_ADD),)
