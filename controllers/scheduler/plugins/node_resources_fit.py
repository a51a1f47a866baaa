"""NodeResourcesFit: room for the pod's requests; among nodes with room, the emptier the better (LeastAllocated)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from controllers.scheduler.events import (
    ADD,
    DELETE,
    NODE,
    POD,
    UPDATE_NODE_ALLOCATABLE,
    UPDATE_POD_SCALE_DOWN,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import CycleState, FilterPlugin, Handle, ScorePlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, MEMORY, pod_requests
from controllers.scheduler.resource_scores import resource_specs, scorer_of
from controllers.scheduler.status import Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject, uid_of
from kubeloop.apimachinery.quota import is_extended

NAME = "NodeResourcesFit"


class NodeResourcesFit(FilterPlugin, ScorePlugin):
    """Arguments: `ignoredResources`, `ignoredResourceGroups`, `scoringStrategy`, as NodeResourcesFitArgs has them."""

    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._ignored = frozenset(handle.args.get("ignoredResources") or ())
        self._ignored_groups = frozenset(handle.args.get("ignoredResourceGroups") or ())
        strategy = handle.args.get("scoringStrategy") or {}
        self._score = scorer_of(strategy.get("type") or "LeastAllocated", resource_specs(strategy), strategy)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if (
            len(node.pods) < node.allowed_pods
            and (not pod.cpu or pod.cpu <= node.allocatable_cpu - node.requested_cpu)
            and (not pod.memory or pod.memory <= node.allocatable_memory - node.requested_memory)
            and not pod.scalars
            and not pod.ephemeral_storage
        ):
            return None
        return self._explain(pod, node)

    def filter_question(self, pod: PodInfo) -> Hashable:
        return pod.size

    def shortages(self, pod: PodInfo, node: NodeInfo) -> dict[str, tuple[int, int]]:
        """Of each resource there is too little of: how much the pod asks for, and how much is free."""
        return {
            name: (asked, allocatable - requested)
            for name, asked, allocatable, requested in self._compared(pod, node)
            if asked > 0 and asked > allocatable - requested
        }

    def _explain(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Every resource there is too little of. Preemption cannot help where even the empty node is too small."""
        reasons = ["Too many pods"] if len(node.pods) + 1 > node.allowed_pods else []
        short = self.shortages(pod, node)
        reasons += [f"Insufficient {name}" for name in short]
        if not reasons:
            return None
        is_hopeless = any(
            name in short and asked > all_of_it for name, asked, all_of_it, _ in self._compared(pod, node)
        )
        return Status(Code.UNRESOLVABLE if is_hopeless else Code.UNSCHEDULABLE, tuple(reasons), NAME)

    def _compared(self, pod: PodInfo, node: NodeInfo) -> list[tuple[str, int, int, int]]:
        compared = [
            (CPU, pod.cpu, node.allocatable_cpu, node.requested_cpu),
            (MEMORY, pod.memory, node.allocatable_memory, node.requested_memory),
            (EPHEMERAL_STORAGE, pod.ephemeral_storage, node.allocatable_ephemeral, node.requested_ephemeral),
        ]
        compared += [
            (name, asked, node.allocatable_scalars.get(name, 0), node.requested_scalars.get(name, 0))
            for name, asked in pod.scalars.items()
            if not (is_extended(name) and self._is_ignored(name))
        ]
        return compared

    def _is_ignored(self, name: str) -> bool:
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        return self._score(pod, nodes)

    def score_question(self, pod: PodInfo) -> Hashable:
        return pod.size

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(POD, DELETE | UPDATE_POD_SCALE_DOWN), _after_pod_change),
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_ALLOCATABLE), self._after_node_change),
        )

    def _after_node_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        """Only a node that could hold the pod if it were empty, and has grown in something the pod needs."""
        if new is None:
            return Hint.SKIP
        after = _empty(new)
        if self._explain(pod, after) is not None:
            return Hint.SKIP
        if old is None:
            return Hint.QUEUE
        before = _empty(old)
        has_grown = after.allowed_pods > before.allowed_pods or any(
            asked > 0 and allocatable > was[2]
            for (_, asked, allocatable, _), was in zip(
                self._compared(pod, after), self._compared(pod, before), strict=True
            )
        )
        return Hint.QUEUE if has_grown else Hint.SKIP


def _empty(node: ReadOnlyObject) -> NodeInfo:
    info = NodeInfo("")
    info.set_node(node)
    return info


def _after_pod_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A placed pod went, or shrank in something the pod needs; or the pod itself shrank."""
    if old is None:
        return Hint.SKIP
    if new is None:
        placed = (old.get("spec") or {}).get("nodeName") or (old.get("status") or {}).get("nominatedNodeName")
        return Hint.QUEUE if placed else Hint.SKIP
    if uid_of(new) == pod.uid:
        return Hint.QUEUE
    if not (new.get("spec") or {}).get("nodeName"):
        return Hint.SKIP
    before, after, wanted = pod_requests(old), pod_requests(new), pod_requests(pod.pod)
    has_shrunk = any(asked and before.get(name, 0) > after.get(name, 0) for name, asked in wanted.items())
    return Hint.QUEUE if has_shrunk else Hint.SKIP
