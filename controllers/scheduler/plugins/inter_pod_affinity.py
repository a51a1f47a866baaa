"""InterPodAffinity: near the pods one wants, away from those one avoids and from those that avoid one.

What other pods say is counted once per pod in PreFilter and PreScore, by topology label and value; Filter and Score
then only look up the labels of a node. What a node adds to the counts is kept until its pods change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controllers.scheduler.affinity_counts import AffinityCounts, Counts
from controllers.scheduler.affinity_terms import AffinityTerm, WeightedTerm, matches_all
from controllers.scheduler.columns import Shares
from controllers.scheduler.events import (
    ADD,
    DELETE,
    NAMESPACE,
    NODE,
    POD,
    UPDATE,
    UPDATE_NODE_LABEL,
    UPDATE_POD_LABEL,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import (
    MAX_NODE_SCORE,
    CycleState,
    FilterPlugin,
    Handle,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.inter_pod_affinity_hints import (
    Wishes,
    after_namespace_change,
    after_node_change,
    after_pod_change,
)
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.resource import NAMESPACES

NAME = "InterPodAffinity"
NOT_NEAR = Status(Code.UNRESOLVABLE, ("node(s) didn't match pod affinity rules",), NAME)
NOT_AWAY = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod anti-affinity rules",), NAME)
AVOIDED = Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy existing pods anti-affinity rules",), NAME)


@dataclass(frozen=True, slots=True)
class Scoring:
    """What PreScore needs to weigh one existing pod."""

    pod: PodInfo
    near: Sequence[WeightedTerm]
    far: Sequence[WeightedTerm]
    namespace_labels: Mapping[str, str]


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Arguments: `hardPodAffinityWeight` (1), `ignorePreferredTermsOfExistingPods` (false)."""

    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._namespaces = handle.lister(NAMESPACES)
        self._hard_weight: int = handle.args.get("hardPodAffinityWeight", 1)
        self._ignores_existing: bool = handle.args.get("ignorePreferredTermsOfExistingPods", False)

    # Filter --------------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        near, far = self._here(pod.required_affinity), self._here(pod.required_anti_affinity)
        if not near and not far and not state.snapshot.with_anti_affinity:
            return SKIP
        labels = self._namespace_labels(pod.namespace)
        avoiding = self._avoiding(state, pod, labels)
        if not near and not far and not avoiding:
            return SKIP
        counts = AffinityCounts(pod, near, far, labels, avoiding)
        if near or far:
            self._count_wanted(state, counts)
        state[NAME] = counts
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        counts: AffinityCounts = state[NAME]
        if counts.near_terms and not counts.is_near(node):
            return NOT_NEAR
        labels = node.labels.items()
        if not counts.far.keys().isdisjoint(labels):
            return NOT_AWAY
        return None if counts.avoiding.keys().isdisjoint(labels) else AVOIDED

    def filter_labels(self, state: CycleState, pod: PodInfo) -> Sequence[str]:
        counts: AffinityCounts = state[NAME]
        return sorted({*(term.topology_key for term in counts.terms), *(key for key, _ in counts.avoiding)})

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        state[NAME].update(added, node.labels, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        state[NAME].update(removed, node.labels, -1)

    def _avoiding(self, state: CycleState, pod: PodInfo, namespace_labels: Mapping[str, str]) -> Counts:
        """Where existing pods do not want this one."""

        def shares(nodes: Sequence[NodeInfo]) -> list[Shares]:
            return [
                [
                    ((term.topology_key, node.labels[term.topology_key]), 1)
                    for existing in node.pods_with_anti_affinity.values()
                    for term in existing.required_anti_affinity
                    if term.topology_key in node.labels and term.matches(pod.namespace, pod.labels, namespace_labels)
                ]
                for node in nodes
            ]

        who = (pod.namespace, frozenset(pod.labels.items()), frozenset(namespace_labels.items()))
        return state.snapshot.totals(("avoiding", who), shares)

    def _count_wanted(self, state: CycleState, counts: AffinityCounts) -> None:
        """Where the pods are that this one wants near or far."""
        near, far = counts.near_terms, counts.far_terms
        if near:
            counts.near = state.snapshot.totals(("near", near), lambda nodes: [_near(node, near) for node in nodes])
        if far:
            counts.far = state.snapshot.totals(("far", far), lambda nodes: [_far(node, far) for node in nodes])

    def keeps_apart(self, pod: PodInfo, other: PodInfo) -> bool:
        """Whether one of the two must not be where the other is, as one of them says."""
        namespace_labels = self._namespace_labels(pod.namespace)
        return any(
            term.matches(pod.namespace, pod.labels, namespace_labels) for term in other.required_anti_affinity
        ) or any(term.matches(other.namespace, other.labels, {}) for term in self._here(pod.required_anti_affinity))

    # Score ---------------------------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        has_preferences = bool(pod.preferred_affinity or pod.preferred_anti_affinity)
        if not has_preferences and (self._ignores_existing or not state.snapshot.with_affinity):
            return SKIP
        scoring = Scoring(
            pod,
            self._weighted_here(pod.preferred_affinity),
            self._weighted_here(pod.preferred_anti_affinity),
            self._namespace_labels(pod.namespace),
        )
        terms = (tuple(scoring.near), tuple(scoring.far), self._hard_weight)
        who = (pod.namespace, frozenset(pod.labels.items()), frozenset(scoring.namespace_labels.items()))
        weights = state.snapshot.totals(
            ("weights", terms, who), lambda asked: [self._weights(scoring, node, has_preferences) for node in asked]
        )
        if not weights:
            return SKIP
        state["PreScore" + NAME] = weights
        return None

    def _weights(self, scoring: Scoring, node: NodeInfo, has_preferences: bool) -> Shares:
        """What the pods of a node make of its topology: by this pod's wishes, and by their own about this pod."""
        pods = node.pods if has_preferences else node.pods_with_affinity
        return [
            ((term.topology_key, node.labels[term.topology_key]), weight)
            for existing in pods.values()
            for term, weight in self._wishes(scoring, existing)
            if term.topology_key in node.labels
        ]

    def _wishes(self, scoring: Scoring, existing: PodInfo) -> Iterator[tuple[AffinityTerm, int]]:
        """The terms by which one existing pod counts, and how much."""
        for wanted in scoring.near:
            if wanted.term.matches(existing.namespace, existing.labels, {}):
                yield wanted.term, wanted.weight
        for unwanted in scoring.far:
            if unwanted.term.matches(existing.namespace, existing.labels, {}):
                yield unwanted.term, -unwanted.weight
        if not existing.has_pod_affinity:
            return
        pod, labels = scoring.pod, scoring.namespace_labels
        if self._hard_weight > 0:
            for term in existing.required_affinity:
                if term.matches(pod.namespace, pod.labels, labels):
                    yield term, self._hard_weight
        for wish in existing.preferred_affinity:
            if wish.term.matches(pod.namespace, pod.labels, labels):
                yield wish.term, wish.weight
        for wish in existing.preferred_anti_affinity:
            if wish.term.matches(pod.namespace, pod.labels, labels):
                yield wish.term, -wish.weight

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        weights: Counts = state["PreScore" + NAME]
        keys = {key for key, _ in weights}
        return [sum(weights.get((key, node.labels[key]), 0) for key in keys if key in node.labels) for node in nodes]

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        lowest, highest = min(scores), max(scores)
        if lowest == highest:
            return [0] * len(scores)
        return [int(MAX_NODE_SCORE * ((score - lowest) / (highest - lowest))) for score in scores]

    # Namespaces ----------------------------------------------------------------------------------------------------

    def _here(self, terms: Sequence[AffinityTerm]) -> tuple[AffinityTerm, ...]:
        return tuple(self._resolved(term) for term in terms)

    def _weighted_here(self, terms: Sequence[WeightedTerm]) -> list[WeightedTerm]:
        return [WeightedTerm(weighted.weight, self._resolved(weighted.term)) for weighted in terms]

    def _resolved(self, term: AffinityTerm) -> AffinityTerm:
        if not term.selects_namespaces:
            return term
        return term.within((name_of(namespace), labels_of(namespace)) for namespace in self._namespaces.list())

    def _namespace_labels(self, name: str) -> Mapping[str, str]:
        namespace = self._namespaces.get(ObjectKey("", name))
        return labels_of(namespace) if namespace is not None else {}

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(POD, ADD | UPDATE_POD_LABEL | DELETE), self._after_pod_change),
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL), after_node_change),
            RegisteredEvent(ClusterEvent(NAMESPACE, UPDATE), after_namespace_change),
        )

    def _after_pod_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        near, far = self._here(pod.required_affinity), self._here(pod.required_anti_affinity)
        return after_pod_change(pod, Wishes(near, far, self._namespace_labels(pod.namespace)), old, new)


def _near(node: NodeInfo, terms: tuple[AffinityTerm, ...]) -> Shares:
    """Pods that match all of the terms count for each of them."""
    matching = sum(matches_all(terms, other.namespace, other.labels) for other in node.pods.values())
    keys = [term.topology_key for term in terms if term.topology_key in node.labels] if matching else []
    return [((key, node.labels[key]), matching) for key in keys]


def _far(node: NodeInfo, terms: tuple[AffinityTerm, ...]) -> Shares:
    """Pods that match a term count for it."""
    return [
        ((term.topology_key, node.labels[term.topology_key]), 1)
        for other in node.pods.values()
        for term in terms
        if term.topology_key in node.labels and term.matches(other.namespace, other.labels, {})
    ]
