"""Taints and tolerations, as component-helpers/scheduling/corev1 (v1.36) matches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubeloop.apimachinery.meta import Object, ReadOnlyObject

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
KEEPS_AWAY = (NO_SCHEDULE, NO_EXECUTE)  # the effects that count when a pod is placed

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
UNSCHEDULABLE_TAINT: Taint = {"key": UNSCHEDULABLE, "effect": NO_SCHEDULE}


class TaintId(NamedTuple):
    """What tells the taints of a node apart; value and time do not."""

    key: str
    effect: str


def taint_id(taint: Taint) -> TaintId:
    return TaintId(taint.get("key") or "", taint.get("effect") or "")


def taints_of(node: ReadOnlyObject) -> Sequence[Taint]:
    return (node.get("spec") or {}).get("taints") or ()


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """An empty effect tolerates every effect, an empty key with Exists every key."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


def is_tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated_taint(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> Taint | None:
    """The first taint that keeps the pod away; PreferNoSchedule never does."""
    for taint in taints:
        if taint.get("effect") in KEEPS_AWAY and not is_tolerated(tolerations, taint):
            return taint
    return None


def used_tolerations(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> list[Toleration] | None:
    """For each taint the first toleration that tolerates it; None where one is not tolerated."""
    used = []
    for taint in taints:
        toleration = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if toleration is None:
            return None
        used.append(toleration)
    return used


def merged(tolerations: Sequence[Object]) -> list[Object]:
    """Each once, and none that another one covers."""
    kept: list[Object] = []
    for i, toleration in enumerate(tolerations):
        if any(covers(wide, toleration) for wide in kept):
            continue
        if any(other != toleration and covers(other, toleration) for other in tolerations[i + 1 :]):
            continue
        kept.append(toleration)
    return kept


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """Whether `wide` tolerates everything `narrow` does, for at least as long."""
    if wide == narrow:
        return True
    is_exists = wide.get("operator") == "Exists"
    if wide.get("key", "") != narrow.get("key", "") and not (not wide.get("key") and is_exists):
        return False
    if wide.get("effect") and wide["effect"] != narrow.get("effect"):
        return False
    if wide.get("effect") == NO_EXECUTE and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if is_exists:
        return True
    both_equal = wide.get("operator", "") in ("", "Equal") and narrow.get("operator") == "Equal"
    return both_equal and wide.get("value", "") == narrow.get("value", "")
