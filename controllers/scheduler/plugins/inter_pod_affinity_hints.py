"""Which events may help a pod that InterPodAffinity refused."""

from __future__ import annotations

from controllers.scheduler.affinity_terms import matches_all
from controllers.scheduler.events import Hint
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, uid_of


def after_pod_change(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A placed pod that it wants near came, or one that it wants far (or that avoids it) went."""
    if old is not None and new is not None and uid_of(new) == pod.uid:
        return Hint.QUEUE
    before, after = (PodInfo(other) if other is not None else None for other in (old, new))
    if any(other is not None and not (other.node_name or other.nominated_node_name) for other in (before, after)):
        return Hint.SKIP
    has_come_near = not _is_wanted(pod, before) and _is_wanted(pod, after)
    if after is not None:
        has_gone_away = before is not None and _is_unwanted(pod, before) and not _is_unwanted(pod, after)
    else:
        has_gone_away = before is not None and (_is_unwanted(pod, before) or _is_unwanted(before, pod))
    return Hint.QUEUE if has_come_near or has_gone_away else Hint.SKIP


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


def _is_wanted(pod: PodInfo, other: PodInfo | None) -> bool:
    return other is not None and matches_all(pod.required_affinity, other.namespace, other.labels)


def _is_unwanted(pod: PodInfo, other: PodInfo) -> bool:
    return matches_all(pod.required_anti_affinity, other.namespace, other.labels)
