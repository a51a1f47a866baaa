"""When a node last gave a sign of life, and its conditions once it has been silent for too long. Plain functions.

Signs of life are a new lastHeartbeatTime of its Ready condition and a renewed Lease. When they came is measured with
our own clock: that of the node may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controllers.node_lifecycle.settings import Settings
from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, metadata

READY = "Ready"
SILENT_REASON = "NodeStatusUnknown"
# NetworkUnavailable is not among them: it is not the kubelet's.
_TYPES = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class Health:
    """What was seen of a node last; `seen_at` on the monotonic clock. `heartbeat` is None before its first report."""

    seen_at: float
    heartbeat: str | None = None
    renewed: str = ""


def ready_condition(node: ReadOnlyObject) -> Condition | None:
    return get_condition(conditions_of(node), READY)


def observe(
    before: Health | None, node: ReadOnlyObject, lease: ReadOnlyObject | None, now: float, age_seconds: float
) -> Health:
    """`age_seconds`: how long ago the node was created, which is what a first report is waited for from."""
    ready = ready_condition(node)
    heartbeat = None if ready is None else ready.get("lastHeartbeatTime") or ""
    if before is None:
        health = Health(now if ready is not None else now - age_seconds, heartbeat)
    elif heartbeat is None:
        health = replace(before, heartbeat=None)
    elif heartbeat != before.heartbeat:
        health = replace(before, heartbeat=heartbeat, seen_at=now)
    else:
        health = before
    renewed = ((lease or {}).get("spec") or {}).get("renewTime") or ""
    return replace(health, renewed=renewed, seen_at=now) if renewed > health.renewed else health


def is_silent(health: Health, now: float, settings: Settings) -> bool:
    grace = settings.startup_grace_seconds if health.heartbeat is None else settings.grace_seconds
    return now > health.seen_at + grace


def silent_conditions(node: ReadOnlyObject, now: str) -> list[Object]:
    """Its conditions with all that a kubelet reports turned to Unknown."""
    conditions = [_unknown(condition, now) for condition in conditions_of(node)]
    missing = [type_ for type_ in _TYPES if get_condition(conditions, type_) is None]
    return [*conditions, *(_never_reported(type_, node, now) for type_ in missing)]


def _unknown(condition: Condition, now: str) -> Object:
    if condition.get("type") not in _TYPES or condition.get("status") == "Unknown":
        return dict(condition)
    message = "Kubelet stopped posting node status."
    changes = {"status": "Unknown", "reason": SILENT_REASON, "message": message, "lastTransitionTime": now}
    return {**condition, **changes}


def _never_reported(type_: str, node: ReadOnlyObject, now: str) -> Object:
    return {
        "type": type_,
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": metadata(node).get("creationTimestamp"),
        "lastTransitionTime": now,
    }
