"""Topology spread constraints as PodTopologySpread reads them, and the counting of matching pods."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.scheduler.affinity_terms import selector_or_nothing
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from kubeloop.apimachinery.selectors import EQUALS, NOTHING, Labels, Requirement, Selector
from kubeloop.apimachinery.tolerations import untolerated_taint

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"

# What applies to pods without constraints of their own, unless a profile says otherwise (podtopologyspread/plugin.go).
SYSTEM_DEFAULTS: Sequence[Mapping[str, Any]] = (
    {"topologyKey": HOSTNAME, "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 3},
    {"topologyKey": ZONE, "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 5},
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, its defaults filled in."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def counts_every_node(self, pod: PodInfo) -> bool:
        """Whether `counts_node` need not be asked."""
        return not self.honors_taints and (not self.honors_affinity or pod.required_node_affinity.is_empty)

    def node_question(self, pod: PodInfo) -> Hashable:
        """What `counts_node` depends on beside the node."""
        return (
            pod.required_node_affinity if self.honors_affinity else None,
            pod.tolerations_key if self.honors_taints else None,
        )

    def counts_node(self, pod: PodInfo, node: NodeInfo) -> bool:
        """Whether the node counts: as far as affinity and taints are concerned, the pod could go there."""
        if self.honors_affinity and not pod.required_node_affinity.matches(node.name, node.labels):
            return False
        return not (self.honors_taints and untolerated_taint(pod.tolerations, node.repelling_taints) is not None)


def constraints_of(
    entries: Sequence[Mapping[str, Any]], action: str, labels: Labels, selector: Selector | None = None
) -> list[Constraint]:
    """Those with `whenUnsatisfiable: action`; `selector` stands in for the selector of each."""
    return [_constraint(entry, labels, selector) for entry in entries if entry.get("whenUnsatisfiable") == action]


def has_all_keys(constraints: Sequence[Constraint], labels: Labels) -> bool:
    """Whether a node with these labels is in a domain of every constraint."""
    return all(constraint.topology_key in labels for constraint in constraints)


def matching_pods(snapshot: Snapshot, namespace: str, selector: Selector, nodes: Sequence[NodeInfo]) -> list[int]:
    """How many pods of the namespace match and stay, by node. An empty selector counts none, as upstream has it."""
    if selector.is_empty:
        return [0] * len(nodes)

    def ask(asked: Sequence[NodeInfo]) -> list[int]:
        counts: dict[int, bool] = {}  # by the pod's likeness: there are few of these on all nodes
        numbers = []
        for node in asked:
            number = 0
            for pod in node.pods.values():
                does_count = counts.get(pod.likeness)
                if does_count is None:
                    does_count = counts[pod.likeness] = (
                        pod.namespace == namespace and not pod.is_being_deleted and selector.matches(pod.labels)
                    )
                number += does_count
            numbers.append(number)
        return numbers

    return snapshot.answers(("matching pods", namespace, selector), ask, nodes)


def matching_by_domain(
    snapshot: Snapshot, pod: PodInfo, constraint: Constraint, keys: tuple[str, ...]
) -> dict[str, int]:
    """Matching pods of all nodes that count and have the labels `keys`, by domain of the constraint."""
    counts_every_node = constraint.counts_every_node(pod)

    def shares(nodes: Sequence[NodeInfo]) -> list[Sequence[tuple[str, int]]]:
        counted = matching_pods(snapshot, pod.namespace, constraint.selector, nodes)
        return [
            ((node.labels[constraint.topology_key], number),)
            if all(key in node.labels for key in keys) and (counts_every_node or constraint.counts_node(pod, node))
            else ()
            for node, number in zip(nodes, counted, strict=True)
        ]

    question = (
        "matching by domain",
        *(pod.namespace, constraint.selector, constraint.topology_key, keys),
        constraint.node_question(pod),
    )
    return snapshot.totals(question, shares)


def _constraint(entry: Mapping[str, Any], labels: Labels, selector: Selector | None) -> Constraint:
    if selector is None:
        selector = _with_label_keys(
            selector_or_nothing(entry.get("labelSelector")), entry.get("matchLabelKeys") or (), labels
        )
    return Constraint(
        max_skew=entry.get("maxSkew", 1),
        topology_key=entry.get("topologyKey", ""),
        selector=selector,
        min_domains=entry.get("minDomains") or 1,
        honors_affinity=(entry.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honors_taints=(entry.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )


def _with_label_keys(selector: Selector, keys: Sequence[str], labels: Labels) -> Selector:
    """matchLabelKeys: pods with the same value as this one's, for each of the keys it has."""
    same = [Requirement(key, EQUALS, (labels[key],)) for key in keys if key in labels]
    if not same or selector is NOTHING:
        return selector
    return Selector([*same, *selector.requirements])
