"""Which taints a node should have by its conditions, and its list of taints after a change. Plain functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.tolerations import (
    NO_EXECUTE,
    NO_SCHEDULE,
    UNSCHEDULABLE,
    Taint,
    TaintId,
    taint_id,
    taints_of,
)

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"

NOT_READY_NO_EXECUTE = TaintId(NOT_READY, NO_EXECUTE)
UNREACHABLE_NO_EXECUTE = TaintId(UNREACHABLE, NO_EXECUTE)
NO_EXECUTE_TAINTS = frozenset((NOT_READY_NO_EXECUTE, UNREACHABLE_NO_EXECUTE))

# Condition type and status -> key of the taint that goes with it.
_KEYS = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = {TaintId(key, NO_SCHEDULE) for key in (*_KEYS.values(), UNSCHEDULABLE)}


def no_schedule_changes(node: ReadOnlyObject) -> tuple[list[TaintId], set[TaintId]]:
    """The NoSchedule taints to add, in the order of the conditions, and those to remove."""
    keys = [_KEYS.get((c.get("type") or "", c.get("status") or "")) for c in conditions_of(node)]
    if (node.get("spec") or {}).get("unschedulable"):
        keys.append(UNSCHEDULABLE)
    wanted = [TaintId(key, NO_SCHEDULE) for key in keys if key is not None]
    present = {taint_id(taint) for taint in taints_of(node)} & _OURS
    return [taint for taint in wanted if taint not in present], present.difference(wanted)


def no_execute_changes(ready: str) -> tuple[list[TaintId], set[TaintId]]:
    """The NoExecute taint that goes with a Ready condition of this status, and those that must not be there."""
    if ready == "False":
        return [NOT_READY_NO_EXECUTE], {UNREACHABLE_NO_EXECUTE}
    if ready == "Unknown":
        return [UNREACHABLE_NO_EXECUTE], {NOT_READY_NO_EXECUTE}
    return [], set(NO_EXECUTE_TAINTS)


def has_any(node: ReadOnlyObject, wanted: Collection[TaintId]) -> bool:
    return any(taint_id(taint) in wanted for taint in taints_of(node))


def changed(
    taints: Sequence[Taint], added: Sequence[TaintId], removed: Collection[TaintId], now: str
) -> list[Object] | None:
    """The list with these changes, or None where it has them already. What stays keeps its place and its time."""
    present = {taint_id(taint) for taint in taints}
    kept = [dict(taint) for taint in taints if taint_id(taint) not in removed]
    new = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in added if (key, effect) not in present]
    return [*kept, *new] if new or len(kept) != len(taints) else None
