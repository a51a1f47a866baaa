"""NodeAffinity: nodeSelector and required terms refuse nodes, preferred terms add their weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from controllers.scheduler.events import ADD, NODE, UPDATE_NODE_LABEL, ClusterEvent, Hint, RegisteredEvent
from controllers.scheduler.interface import (
    CycleState,
    FilterPlugin,
    Handle,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.normalize import by_maximum
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.node_affinity import (
    RequiredNodeAffinity,
    node_selector,
    preferred_terms,
)

REFUSED = Status(Code.UNRESOLVABLE, ("node(s) didn't match Pod's node affinity/selector",), "NodeAffinity")
NOT_ADDED = Status(Code.UNRESOLVABLE, ("node(s) didn't match scheduler-enforced node affinity",), "NodeAffinity")
CONFLICT = Status(Code.UNRESOLVABLE, ("pod affinity terms conflict",), "NodeAffinity")


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """`addedAffinity` of its arguments applies to every pod of the profile, beside the pod's own."""

    NAME = "NodeAffinity"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        added = handle.args.get("addedAffinity") or {}
        required = added.get("requiredDuringSchedulingIgnoredDuringExecution")
        self._added: RequiredNodeAffinity | None = node_selector(required) if required else None
        self._added_preferred = preferred_terms({"affinity": {"nodeAffinity": added}})

    def pre_filter(self, state: CycleState, pod: PodInfo) -> frozenset[str] | Status | None:
        affinity = pod.required_node_affinity
        if affinity.is_empty and self._added is None:
            return SKIP
        names = affinity.node_names()
        return CONFLICT if names is not None and not names else names

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if self._added is not None and not self._added.matches(node.name, node.labels):
            return NOT_ADDED
        return None if pod.required_node_affinity.matches(node.name, node.labels) else REFUSED

    def filter_question(self, pod: PodInfo) -> Hashable:
        return pod.required_node_affinity

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        return None if pod.preferred_node_affinity or self._added_preferred else SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        preferred = (*self._added_preferred, *pod.preferred_node_affinity)
        return [sum(p.weight for p in preferred if p.term.matches(node.name, node.labels)) for node in nodes]

    def score_question(self, pod: PodInfo) -> Hashable:
        return pod.preferred_node_affinity

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        return by_maximum(scores)

    def events(self) -> Sequence[RegisteredEvent]:
        return (RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL), self._after_node_change),)

    def _after_node_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        """Only where the node has come to match by it."""
        if new is None or not self._matches(pod, new):
            return Hint.SKIP
        return Hint.QUEUE if old is None or not self._matches(pod, old) else Hint.SKIP

    def _matches(self, pod: PodInfo, node: ReadOnlyObject) -> bool:
        name, labels = name_of(node), labels_of(node)
        if self._added is not None and not self._added.matches(name, labels):
            return False
        return pod.required_node_affinity.matches(name, labels)
