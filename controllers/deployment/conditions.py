"""A Deployment's conditions as a list of values. Pure.

Deployments keep their conditions in the order in which they last changed, unlike most kinds: a changed one moves to the
end (SetDeploymentCondition of pkg/controller/deployment/util, v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubeloop.apimachinery.conditions import get_condition, without_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

AVAILABLE = "Available"
PROGRESSING = "Progressing"
REPLICA_FAILURE = "ReplicaFailure"

Conditions = list[Object]


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Object:
    moment = format_time(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def reason_of(conditions: Sequence[ReadOnlyObject], kind: str) -> str:
    return (get_condition(conditions, kind) or {}).get("reason") or ""


def with_condition(conditions: Sequence[Object], new: Object) -> Conditions:
    """The list with `new` set: unchanged where status and reason stay, else `new` at the end."""
    current = get_condition(conditions, new["type"])
    if current is not None and (current.get("status"), current.get("reason") or "") == (new["status"], new["reason"]):
        return list(conditions)
    return with_refreshed(conditions, new)


def with_refreshed(conditions: Sequence[Object], new: Object) -> Conditions:
    """The same, but `new` is written even where status and reason stay (progress is told by lastUpdateTime)."""
    current = get_condition(conditions, new["type"])
    if current is not None and current.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": current["lastTransitionTime"]}
    return [*without_condition(conditions, new["type"]), new]
