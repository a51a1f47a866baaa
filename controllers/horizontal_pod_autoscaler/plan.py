"""How many replicas the target is to have, and what the status says about it. Pure, but for the autoscaler's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from controllers.horizontal_pod_autoscaler.model import AutoscalerSpec
from controllers.horizontal_pod_autoscaler.pace import Memory, pace
from kubeloop.apimachinery.conditions import conditions_of, set_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time

ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"


class Said(NamedTuple):
    """A condition."""

    type: str
    is_true: bool
    reason: str
    message: str


class Measured(NamedTuple):
    """What one metric calls for; `name` is how it is called in messages."""

    replicas: int
    name: str
    status: Object


class Unmeasured(NamedTuple):
    """A metric that calls for nothing: `why` for its condition and event, `told` where all metrics are summed up."""

    reason: str
    why: str
    told: str

    @property
    def condition(self) -> Said:
        return Said(ACTIVE, False, self.reason, f"the HPA was unable to compute the replica count: {self.why}")


@dataclass(frozen=True, slots=True)
class Summary:
    """All metrics together: the highest count, unless too little is known (None). `error`: what could not be told."""

    highest: Measured | None
    statuses: Sequence[Object]
    condition: Said
    error: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    replicas: int
    reason: str = ""
    conditions: Sequence[Said] = field(default=())


def within_limits(spec: AutoscalerSpec, current: int) -> Decision | None:
    """What needs no metrics: a target that is switched off, or beyond the limits. None: ask the metrics."""
    if current == 0:
        message = "scaling is disabled since the replica count of the target is zero"
        return Decision(0, conditions=(Said(ACTIVE, False, "ScalingDisabled", message),))
    if current > spec.maximum:
        return Decision(spec.maximum, "Current number of replicas above Spec.MaxReplicas")
    if current < spec.minimum:
        return Decision(spec.minimum, "Current number of replicas below Spec.MinReplicas")
    return None


def summarize(results: Sequence[Measured | Unmeasured], current: int) -> Summary:
    """The highest count wins. Where some metric is unknown it is not known either that fewer pods would do."""
    failures = [one for one in results if isinstance(one, Unmeasured)]
    highest = None
    for one in results:
        if isinstance(one, Measured) and (highest is None or highest.replicas == 0 or one.replicas > highest.replicas):
            highest = one
    statuses = [one.status if isinstance(one, Measured) else {"type": ""} for one in results]
    error = ""
    if failures:
        counted = f"{len(failures)} invalid out of {len(results)}"
        error = f"invalid metrics ({counted}), first error is: {failures[0].told}"
    if highest is None or (failures and highest.replicas < current):
        return Summary(None, statuses, failures[0].condition, error)
    message = f"the HPA was able to successfully calculate a replica count from {highest.name}"
    return Summary(highest, statuses, Said(ACTIVE, True, "ValidMetricFound", message), error)


def by_metrics(spec: AutoscalerSpec, memory: Memory, current: int, wanted: Measured, now: datetime) -> Decision:
    reason = ""
    if wanted.replicas > current:
        reason = f"{wanted.name} above target"
    elif wanted.replicas < current:
        reason = "All metrics below target"
    paced = pace(spec, memory, current, wanted.replicas, now)
    conditions = (Said(ABLE, True, *paced.able), Said(LIMITED, paced.is_limited, *paced.limited))
    return Decision(paced.replicas, reason, conditions)


def with_conditions(autoscaler: ReadOnlyObject, said: Sequence[Said], now: datetime) -> list[Object]:
    conditions: Sequence[Any] = conditions_of(autoscaler)
    for one in said:
        changed = {
            "type": one.type,
            "status": "True" if one.is_true else "False",
            "reason": one.reason,
            "message": one.message,
        }
        conditions = set_condition(conditions, changed, format_time(now))
    return [dict(condition) for condition in conditions]


def status(autoscaler: ReadOnlyObject, current: int, desired: int | None, statuses: Sequence[Object] | None) -> Object:
    """Without conditions. `desired`: None for as it was; `statuses`: None where no metric was asked."""
    stored = autoscaler.get("status") or {}
    found: Object = {
        "currentReplicas": current,
        "desiredReplicas": (stored.get("desiredReplicas") or 0) if desired is None else desired,
        "currentMetrics": list(statuses) if statuses is not None else None,
    }
    if stored.get("lastScaleTime"):
        found["lastScaleTime"] = stored["lastScaleTime"]
    return found


def differs(autoscaler: ReadOnlyObject, wanted: ReadOnlyObject) -> bool:
    """Whether `wanted` says anything the stored status does not; zero and absent are the same."""
    return _substance(autoscaler.get("status") or {}) != _substance(wanted)


def _substance(found: ReadOnlyObject) -> Object:
    return {name: value for name, value in found.items() if value}
