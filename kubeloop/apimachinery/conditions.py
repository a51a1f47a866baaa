"""The conditions list of a status: one entry a type, whose lastTransitionTime says when its status last flipped.

Lists are never changed in place: what comes out of an informer is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.meta import Object, ReadOnlyObject

Condition = Mapping[str, Any]


def new_condition(type_: str, status: bool | None, reason: str, message: str = "") -> Object:
    """What `set_condition` takes; None is Unknown. `reason` is one CamelCase word, `message` is for people."""
    text = "Unknown" if status is None else str(status)
    return {"type": type_, "status": text, "reason": reason, "message": message}


def conditions_of(obj: ReadOnlyObject) -> Sequence[Condition]:
    """`status.conditions`, empty where there are none."""
    return (obj.get("status") or {}).get("conditions") or ()


def get_condition(conditions: Sequence[Condition], type_: str) -> Condition | None:
    for condition in conditions:  # a generator would cost more than the loop
        if condition.get("type") == type_:
            return condition
    return None


def is_true(conditions: Sequence[Condition], type_: str) -> bool:
    """Whether there is such a condition and its status is True."""
    condition = get_condition(conditions, type_)
    return condition is not None and condition.get("status") == "True"


def set_condition(conditions: Sequence[Condition], condition: Condition, now: str) -> list[Object]:
    """The list with `condition` in the place of the one of its type, or at the end.

    lastTransitionTime is kept while the status stays the same; where it flips, it is the condition's own or `now`.
    """
    current = get_condition(conditions, condition["type"])
    if current is None:
        return [*map(dict, conditions), {"lastTransitionTime": now, **condition}]
    since = condition.get("lastTransitionTime") or now
    if current.get("status") == condition.get("status"):
        since = current.get("lastTransitionTime") or since
    replacement = {**current, **condition, "lastTransitionTime": since}
    return [replacement if other is current else dict(other) for other in conditions]


def without_condition(conditions: Sequence[Condition], type_: str) -> list[Object]:
    return [dict(condition) for condition in conditions if condition.get("type") != type_]
