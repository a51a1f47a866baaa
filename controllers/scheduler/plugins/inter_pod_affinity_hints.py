"""Which events may help a pod that InterPodAffinity refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers.scheduler.affinity_terms import AffinityTerm, matches_all
from controllers.scheduler.events import Hint
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, name_of, uid_of


@dataclass(frozen=True, slots=True)
class Wishes:
    """The required terms of a pod, with their namespaces by name, and the labels of its own namespace."""

    near: Sequence[AffinityTerm]
    far: Sequence[AffinityTerm]
    namespace_labels: Mapping[str, str]

    def wants(self, other: PodInfo | None) -> bool:
        return other is not None and matches_all(self.near, other.namespace, other.labels)

    def avoids(self, other: PodInfo | None) -> set[int]:
        """The terms of `far`, by position, that speak of it."""
        if other is None:
            return set()
        return {i for i, term in enumerate(self.far) if term.matches(other.namespace, other.labels, {})}

    def is_avoided(self, pod: PodInfo, by: PodInfo) -> bool:
        terms = by.required_anti_affinity
        return any(term.matches(pod.namespace, pod.labels, self.namespace_labels) for term in terms)


def after_pod_change(pod: PodInfo, wishes: Wishes, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A placed pod that it wants near came, or one that it wants far (or that avoids it) went.

    Where a pod that it wants near went, it may now be the first of its kind, which any node will do for.
    """
    if old is not None and new is not None and uid_of(new) == pod.uid:
        return Hint.QUEUE
    before, after = (PodInfo(other) if other is not None else None for other in (old, new))
    if any(other is not None and not (other.node_name or other.nominated_node_name) for other in (before, after)):
        return Hint.SKIP
    was_wanted, is_wanted = wishes.wants(before), wishes.wants(after)
    has_come_near = is_wanted and not was_wanted
    may_be_the_first = was_wanted and not is_wanted and wishes.wants(pod)
    has_gone_away = bool(wishes.avoids(before) - wishes.avoids(after))
    has_stopped_avoiding = before is not None and after is None and wishes.is_avoided(pod, before)
    helps = has_come_near or may_be_the_first or has_gone_away or has_stopped_avoiding
    return Hint.QUEUE if helps else Hint.SKIP


def after_namespace_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """Its terms may pick other namespaces now, and those of placed pods may not pick its own any more."""
    if old is None or new is None or labels_of(old) == labels_of(new):
        return Hint.SKIP
    terms = (*pod.required_affinity, *pod.required_anti_affinity)
    return Hint.QUEUE if name_of(new) == pod.namespace or any(term.selects_namespaces for term in terms) else Hint.SKIP


def after_node_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A node came into, or left, a topology that the pod's terms speak of."""
    before = labels_of(old) if old is not None else {}
    after = labels_of(new) if new is not None else {}
    for term in pod.required_affinity:
        if term.topology_key in after and after[term.topology_key] != before.get(term.topology_key):
            return Hint.QUEUE
    for term in pod.required_anti_affinity:
        if old is None:
            return Hint.QUEUE
        if term.topology_key in before and before[term.topology_key] != after.get(term.topology_key):
            return Hint.QUEUE
    return Hint.SKIP
