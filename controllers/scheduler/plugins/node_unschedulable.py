"""NodeUnschedulable: a cordoned node takes only pods that tolerate the taint a cordon stands for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from controllers.scheduler.events import (
    ADD,
    NODE,
    POD,
    UPDATE_NODE_TAINT,
    UPDATE_POD_TOLERATION,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import CycleState, FilterPlugin, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject, uid_of
from kubeloop.apimachinery.tolerations import UNSCHEDULABLE_TAINT, is_tolerated

REFUSED = Status(Code.UNRESOLVABLE, ("node(s) were unschedulable",), "NodeUnschedulable")


class NodeUnschedulable(PreFilterPlugin, FilterPlugin):
    NAME = "NodeUnschedulable"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        if not state.snapshot.unschedulable or is_tolerated(pod.tolerations, UNSCHEDULABLE_TAINT):
            return SKIP
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return REFUSED if node.is_unschedulable else None

    def filter_question(self, pod: PodInfo) -> Hashable:
        return ""

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_TAINT), _after_node_change),
            RegisteredEvent(ClusterEvent(POD, UPDATE_POD_TOLERATION), _after_toleration),
        )


def _after_node_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    is_open = new is not None and not _is_cordoned(new)
    return Hint.QUEUE if is_open and (old is None or _is_cordoned(old)) else Hint.SKIP


def _after_toleration(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if new is None or uid_of(new) != pod.uid:
        return Hint.SKIP
    tolerations = (new.get("spec") or {}).get("tolerations") or ()
    return Hint.QUEUE if is_tolerated(tolerations, UNSCHEDULABLE_TAINT) else Hint.SKIP


def _is_cordoned(node: ReadOnlyObject) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))
