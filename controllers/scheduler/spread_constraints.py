"""Topology spread constraints as PodTopologySpread reads them, and the counting of matching pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.scheduler.affinity_terms import selector_or_nothing
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
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


def count_matching(node: NodeInfo, namespace: str, selector: Selector, token: int) -> int:
    """Pods of the namespace that match and stay, remembered by the node under `token` (look there first).

    An empty selector counts none, as upstream has it.
    """
    counted = node.memo[token] = (
        0
        if selector.is_empty
        else sum(
            pod.namespace == namespace and not pod.is_being_deleted and selector.matches(pod.labels)
            for pod in node.pods.values()
        )
    )
    return counted


def add_up(
    totals: dict[str, int],
    nodes: Sequence[NodeInfo],
    pod: PodInfo,
    constraint: Constraint,
    token: int,
    is_new_domain_counted: bool,
) -> None:
    """Matching pods by domain, over all nodes that count. The loop reads memos itself: it runs for every pod."""
    key, namespace, selector = constraint.topology_key, pod.namespace, constraint.selector
    counts_every_node = constraint.counts_every_node(pod)
    for node in nodes:
        value = node.labels.get(key)
        if value is None or (value not in totals and not is_new_domain_counted):
            continue
        if not counts_every_node and not constraint.counts_node(pod, node):
            continue
        counted = node.memo.get(token)
        if counted is None:
            counted = count_matching(node, namespace, selector, token)
        totals[value] = totals.get(value, 0) + counted


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
