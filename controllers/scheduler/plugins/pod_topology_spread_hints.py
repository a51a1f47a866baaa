"""Which events may help a pod that PodTopologySpread refused."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.scheduler.events import Hint
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.spread_constraints import Constraint, has_all_keys
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, namespace_of, uid_of


def pod_hint(
    constraints: Sequence[Constraint], pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None
) -> Hint:
    """A pod that counts for one of the constraints came, went or changed its labels."""
    if any(other is not None and not _is_involved(other, pod) for other in (old, new)):
        return Hint.SKIP
    if old is not None and new is not None:
        if (
            uid_of(new) == pod.uid
            and _tolerations(old) != _tolerations(new)
            and any(c.honors_taints for c in constraints)
        ):
            return Hint.QUEUE
        before, after = labels_of(old), labels_of(new)
        has_changed = any(c.selector.matches(before) != c.selector.matches(after) for c in constraints)
        return Hint.QUEUE if has_changed else Hint.SKIP
    other = new if new is not None else old
    labels = labels_of(other) if other is not None else {}
    return Hint.QUEUE if any(constraint.selector.matches(labels) for constraint in constraints) else Hint.SKIP


def node_hint(constraints: Sequence[Constraint], old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A domain of the constraints came, went or changed."""
    before = old is not None and has_all_keys(constraints, labels_of(old))
    after = new is not None and has_all_keys(constraints, labels_of(new))
    if old is None or new is None or before != after:
        return Hint.QUEUE if before or after else Hint.SKIP
    has_moved = any(
        labels_of(old).get(constraint.topology_key) != labels_of(new).get(constraint.topology_key)
        for constraint in constraints
    )
    return Hint.QUEUE if after and (has_moved or _taints(old) != _taints(new)) else Hint.SKIP


def _is_involved(other: ReadOnlyObject, pod: PodInfo) -> bool:
    if uid_of(other) == pod.uid:
        return True
    placed = (other.get("spec") or {}).get("nodeName") or (other.get("status") or {}).get("nominatedNodeName")
    return bool(placed) and namespace_of(other) == pod.namespace


def _tolerations(pod: ReadOnlyObject) -> object:
    return (pod.get("spec") or {}).get("tolerations") or []


def _taints(node: ReadOnlyObject) -> object:
    return (node.get("spec") or {}).get("taints") or []
