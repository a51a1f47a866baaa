"""How many matching pods there are for each topology label, as InterPodAffinity's filter wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controllers.scheduler.affinity_terms import AffinityTerm, matches_all
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo

Labels = Mapping[str, str]
Counts = dict[tuple[str, str], int]  # (topology key, value): matching pods; nothing is kept at zero


class AffinityCounts:
    """Of one incoming pod. `avoiding`: existing pods that do not want it; `near`, `far`: pods it wants or avoids."""

    def __init__(
        self,
        pod: PodInfo,
        near_terms: tuple[AffinityTerm, ...],
        far_terms: tuple[AffinityTerm, ...],
        namespace_labels: Labels,
        avoiding: Counts,
    ) -> None:
        self.pod = pod
        self.near_terms, self.far_terms = near_terms, far_terms
        self.namespace_labels = namespace_labels
        self.avoiding = avoiding
        self.near: Counts = {}
        self.far: Counts = {}

    def clone(self) -> AffinityCounts:
        copy = AffinityCounts(self.pod, self.near_terms, self.far_terms, self.namespace_labels, dict(self.avoiding))
        copy.near, copy.far = dict(self.near), dict(self.far)
        return copy

    @property
    def terms(self) -> Sequence[AffinityTerm]:
        return (*self.near_terms, *self.far_terms)

    def is_near(self, node: NodeInfo) -> bool:
        """Every term is met in the node's topology.

        The first pod of a group that wants to be together would never start: where nothing matches anywhere and the pod
        matches its own terms, any node with the labels will do.
        """
        if any(term.topology_key not in node.labels for term in self.near_terms):
            return False
        if all(self.near.get((term.topology_key, node.labels[term.topology_key]), 0) > 0 for term in self.near_terms):
            return True
        return not self.near and matches_all(self.near_terms, self.pod.namespace, self.pod.labels)

    def update(self, other: PodInfo, labels: Labels, change: int) -> None:
        """Another pod is tried out on, or away from, a node with those labels."""
        for term in other.required_anti_affinity:
            if term.matches(self.pod.namespace, self.pod.labels, self.namespace_labels):
                count_up(self.avoiding, term.topology_key, labels, change)
        if matches_all(self.near_terms, other.namespace, other.labels):
            for term in self.near_terms:
                count_up(self.near, term.topology_key, labels, change)
        for term in self.far_terms:
            if term.matches(other.namespace, other.labels, {}):
                count_up(self.far, term.topology_key, labels, change)


def count_up(counts: Counts, topology_key: str, labels: Labels, change: int) -> None:
    value = labels.get(topology_key)
    if value is None:
        return
    label = (topology_key, value)
    number = counts.get(label, 0) + change
    if number:
        counts[label] = number
    else:
        counts.pop(label, None)
