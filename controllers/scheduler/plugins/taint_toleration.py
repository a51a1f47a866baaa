"""TaintToleration: taints keep pods away; those that only say PreferNoSchedule cost points."""

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
from controllers.scheduler.interface import CycleState, FilterPlugin, PreFilterPlugin, ScorePlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.normalize import by_maximum
from controllers.scheduler.plugins.scheduling_gates import is_its_own
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.tolerations import PREFER_NO_SCHEDULE, is_tolerated, untolerated_taint

REFUSED = Status(Code.UNRESOLVABLE, ("node(s) had untolerated taint(s)",), "TaintToleration")


class TaintToleration(PreFilterPlugin, FilterPlugin, ScorePlugin):
    NAME = "TaintToleration"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        return None if state.snapshot.repelling else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        taints = node.repelling_taints
        if not taints or untolerated_taint(pod.tolerations, taints) is None:
            return None
        return REFUSED

    def filter_question(self, pod: PodInfo) -> Hashable:
        return pod.tolerations_key

    def score_question(self, pod: PodInfo) -> Hashable:
        return pod.tolerations_key

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """How many taints ask the pod to stay away; the fewer the better."""
        tolerations = [t for t in pod.tolerations if (t.get("effect") or PREFER_NO_SCHEDULE) == PREFER_NO_SCHEDULE]
        return [sum(not is_tolerated(tolerations, taint) for taint in node.unwelcoming_taints) for node in nodes]

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        return by_maximum(scores, is_reversed=True)

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_TAINT), _after_node_change),
            RegisteredEvent(ClusterEvent(POD, UPDATE_POD_TOLERATION), is_its_own),
        )


def _after_node_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """Only where the node becomes bearable by it."""
    was_bearable = old is not None and _is_bearable(pod, old)
    return Hint.QUEUE if new is not None and not was_bearable and _is_bearable(pod, new) else Hint.SKIP


def _is_bearable(pod: PodInfo, node: ReadOnlyObject) -> bool:
    return untolerated_taint(pod.tolerations, (node.get("spec") or {}).get("taints") or ()) is None
