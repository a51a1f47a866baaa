"""InterPodAffinity: near the pods one wants, away from those one avoids and from those that avoid one.

What other pods say is counted once per pod in PreFilter and PreScore, by topology label and value; Filter and Score
then only look up the labels of a node. A node's own answers are remembered until its pods change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers.scheduler.affinity_counts import AffinityCounts, Counts, count_up, is_any_above_zero
from controllers.scheduler.affinity_terms import AffinityTerm, WeightedTerm, matches_all
from controllers.scheduler.events import (
    ADD,
    DELETE,
    NODE,
    POD,
    UPDATE_NODE_LABEL,
    UPDATE_POD_LABEL,
    ClusterEvent,
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
from controllers.scheduler.plugins.inter_pod_affinity_hints import after_node_change, after_pod_change
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from controllers.scheduler.tokens import Tokens
from kubeloop.apimachinery.meta import ObjectKey, labels_of, name_of
from kubeloop.apimachinery.resource import NAMESPACES

NAME = "InterPodAffinity"
NOT_NEAR = Status(Code.UNRESOLVABLE, ("node(s) didn't match pod affinity rules",), NAME)
NOT_AWAY = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod anti-affinity rules",), NAME)
AVOIDED = Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy existing pods anti-affinity rules",), NAME)

Weights = dict[str, dict[str, int]]  # topology key: value: sum of weights


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
        self._tokens = Tokens()

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
        if counts.far_terms and is_any_above_zero(counts.far, counts.far_terms, node.labels):
            return NOT_AWAY
        avoiding = counts.avoiding
        if avoiding:
            for label in node.labels.items():
                if avoiding.get(label, 0) > 0:
                    return AVOIDED
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        state[NAME].update(added, node.labels, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        state[NAME].update(removed, node.labels, -1)

    def _avoiding(self, state: CycleState, pod: PodInfo, namespace_labels: Mapping[str, str]) -> Counts:
        """Where existing pods do not want this one."""
        question = (pod.namespace, frozenset(pod.labels.items()), frozenset(namespace_labels.items()))
        token = self._tokens.of(("avoiding", question))
        counts: Counts = {}
        for node in state.snapshot.with_anti_affinity.values():
            found: Counts | None = node.memo.get(token)
            if found is None:
                found = node.memo[token] = {}
                for existing in node.pods_with_anti_affinity.values():
                    for term in existing.required_anti_affinity:
                        if term.matches(pod.namespace, pod.labels, namespace_labels):
                            count_up(found, term.topology_key, node.labels, 1)
            for label, number in found.items():
                counts[label] = counts.get(label, 0) + number
        return counts

    def _count_wanted(self, state: CycleState, counts: AffinityCounts) -> None:
        """Where the pods are that this one wants near or far."""
        near, far = counts.near_terms, counts.far_terms
        token = self._tokens.of(("wanted", near, far))
        for node in state.snapshot.nodes:
            if not node.pods:
                continue
            found = node.memo.get(token)
            if found is None:
                pods = node.pods.values()
                matching = sum(matches_all(near, other.namespace, other.labels) for other in pods) if near else 0
                avoided = [sum(term.matches(other.namespace, other.labels, {}) for other in pods) for term in far]
                found = node.memo[token] = (matching, avoided)
            matching, avoided = found
            if matching:
                for term in near:
                    count_up(counts.near, term.topology_key, node.labels, matching)
            for term, number in zip(far, avoided, strict=True):
                if number:
                    count_up(counts.far, term.topology_key, node.labels, number)

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
        weights: Weights = {}
        for node in state.snapshot.nodes if has_preferences else state.snapshot.with_affinity.values():
            for existing in (node.pods if has_preferences else node.pods_with_affinity).values():
                self._weigh(weights, scoring, existing, node)
        if not weights:
            return SKIP
        state["PreScore" + NAME] = weights
        return None

    def _weigh(self, weights: Weights, scoring: Scoring, existing: PodInfo, node: NodeInfo) -> None:
        """What one existing pod makes of its topology: by this pod's wishes, and by its own about this pod."""
        for wanted in scoring.near:
            if wanted.term.matches(existing.namespace, existing.labels, {}):
                _add_weight(weights, wanted.term, node, wanted.weight)
        for unwanted in scoring.far:
            if unwanted.term.matches(existing.namespace, existing.labels, {}):
                _add_weight(weights, unwanted.term, node, -unwanted.weight)
        if not existing.has_pod_affinity:
            return
        pod, labels = scoring.pod, scoring.namespace_labels
        if self._hard_weight > 0:
            for term in existing.required_affinity:
                if term.matches(pod.namespace, pod.labels, labels):
                    _add_weight(weights, term, node, self._hard_weight)
        for wish in existing.preferred_affinity:
            if wish.term.matches(pod.namespace, pod.labels, labels):
                _add_weight(weights, wish.term, node, wish.weight)
        for wish in existing.preferred_anti_affinity:
            if wish.term.matches(pod.namespace, pod.labels, labels):
                _add_weight(weights, wish.term, node, -wish.weight)

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        weights: Weights = state["PreScore" + NAME]
        return [
            sum(values.get(node.labels[key], 0) for key, values in weights.items() if key in node.labels)
            for node in nodes
        ]

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
            RegisteredEvent(ClusterEvent(POD, ADD | UPDATE_POD_LABEL | DELETE), after_pod_change),
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL), after_node_change),
        )


def _add_weight(weights: Weights, term: AffinityTerm, node: NodeInfo, weight: int) -> None:
    value = node.labels.get(term.topology_key)
    if value is not None:
        of_key = weights.setdefault(term.topology_key, {})
        of_key[value] = of_key.get(value, 0) + weight
