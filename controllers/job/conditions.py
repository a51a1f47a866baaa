"""A Job's conditions, in upstream's words. Pure.

A Job ends in two steps: SuccessCriteriaMet or FailureTarget as soon as its end is certain, Complete or Failed once the
last pod is gone and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

SUCCESS_CRITERIA_MET, COMPLETE = "SuccessCriteriaMet", "Complete"
FAILURE_TARGET, FAILED = "FailureTarget", "Failed"
SUSPENDED = "Suspended"


def finished(job: ReadOnlyObject) -> Condition | None:
    """The condition that says that the Job has ended for good."""
    conditions = conditions_of(job)
    return next((c for c in conditions if c.get("type") in (COMPLETE, FAILED) and c.get("status") == "True"), None)


def true_condition(job: ReadOnlyObject, type_: str) -> Condition | None:
    conditions = conditions_of(job)
    return get_condition(conditions, type_) if is_true(conditions, type_) else None


def new(type_: str, reason: str, message: str, now: datetime, status: str = "True") -> Object:
    time = format_time(now)
    return {
        "type": type_,
        "status": status,
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }


def ensured(conditions: Sequence[Condition], wanted: Object) -> list[Object]:
    """With `wanted` in the place of the one of its type, unless they say the same; a False is never added."""
    current = get_condition(conditions, wanted["type"])
    if current is None:
        added = [wanted] if wanted["status"] != "False" else []
        return [*map(dict, conditions), *added]
    if all(current.get(field) == wanted[field] for field in ("status", "reason", "message")):
        return [*map(dict, conditions)]
    return [wanted if other is current else dict(other) for other in conditions]
