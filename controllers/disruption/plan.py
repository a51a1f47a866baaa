"""The status of a budget, from its pods and the scale of their owners. Pure; pkg/controller/disruption, v1.36."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controllers.pods import is_ready
from kubeloop.apimachinery.conditions import conditions_of, set_condition
from kubeloop.apimachinery.int_or_percent import is_percent, scaled
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of, is_being_deleted, name_of
from kubeloop.apimachinery.times import format_time, seconds_since

# How long an evicted pod may take to be seen as deleted before its eviction is held to have failed.
DELETION_SECONDS = 120.0
ALLOWED = "DisruptionAllowed"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pods there should be, and how many of them must stay healthy."""

    expected: int
    desired_healthy: int


@dataclass(frozen=True, slots=True)
class Disrupted:
    """Pods that were evicted and are still there, with the time of it; `overdue` ones will not go any more."""

    pods: dict[str, str]
    overdue: list[str]
    recheck_seconds: float | None  # when the next one is overdue


def needs_scale(budget: ReadOnlyObject) -> bool:
    """Whether the budget is measured by what the pods' owners want, and not by the pods that are there."""
    spec = budget.get("spec") or {}
    return spec.get("maxUnavailable") is not None or is_percent(spec.get("minAvailable"))


def counts(budget: ReadOnlyObject, pod_count: int, scale: int) -> Counts:
    """`scale`: the sum over the pods' owners, if the budget needs it. ValueError for what is no percentage."""
    spec = budget.get("spec") or {}
    unavailable, available = spec.get("maxUnavailable"), spec.get("minAvailable")
    if unavailable is not None:
        return Counts(scale, max(0, scale - scaled(unavailable, scale, round_up=True)))
    if available is None:
        return Counts(0, 0)
    if isinstance(available, int):
        return Counts(pod_count, available)
    return Counts(scale, scaled(available, scale, round_up=True))


def disrupted(budget: ReadOnlyObject, pods: Iterable[ReadOnlyObject], now: datetime) -> Disrupted:
    """Of the evictions that the budget remembers those that are not over yet."""
    remembered: Mapping[str, str] = (budget.get("status") or {}).get("disruptedPods") or {}
    waiting: dict[str, str] = {}
    overdue: list[str] = []
    left: list[float] = []
    for pod in pods:
        evicted_at = remembered.get(name_of(pod))
        if evicted_at is None or is_being_deleted(pod):
            continue
        seconds = DELETION_SECONDS - seconds_since(evicted_at, now)
        if seconds < 0:
            overdue.append(name_of(pod))
        else:
            waiting[name_of(pod)] = evicted_at
            left.append(seconds)
    return Disrupted(waiting, overdue, min(left, default=None))


def status(
    budget: ReadOnlyObject, pods: Sequence[ReadOnlyObject], wanted: Counts, waiting: Mapping[str, str], now: datetime
) -> Object:
    """Without any pods expected nothing may go: the first ones may have come up just now."""
    healthy = sum(is_ready(pod) and not is_being_deleted(pod) and name_of(pod) not in waiting for pod in pods)
    allowed = max(0, healthy - wanted.desired_healthy) if wanted.expected > 0 else 0
    result: Object = {
        "observedGeneration": generation_of(budget),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": wanted.desired_healthy,
        "expectedPods": wanted.expected,
        "conditions": _conditions(
            budget,
            "True" if allowed else "False",
            "SufficientPods" if allowed else "InsufficientPods",
            "",
            generation_of(budget),
            now,
        ),
    }
    return {**result, "disruptedPods": dict(waiting)} if waiting else result


def failed_status(budget: ReadOnlyObject, why: str, now: datetime) -> Object:
    """Nothing may go while nobody knows how many pods there should be; the rest stays as it was."""
    before: Mapping[str, Any] = budget.get("status") or {}
    observed = before.get("observedGeneration") or 0
    return {
        **before,
        "disruptionsAllowed": 0,
        "conditions": _conditions(budget, "False", "SyncFailed", why, observed, now),
    }


def _conditions(
    budget: ReadOnlyObject, status: str, reason: str, message: str, generation: int, now: datetime
) -> list[Object]:
    condition: Object = {"type": ALLOWED, "status": status, "reason": reason, "message": message}
    if generation:
        condition |= {"observedGeneration": generation}
    return set_condition(conditions_of(budget), condition, format_time(now))
