"""From what metrics call for to what is done now: stabilization, the pace of scaling, and the limits. Pure.

What was called for and done before is in `Memory`, in this process only: after a restart the windows begin anew.
pkg/controller/podautoscaler/horizontal.go, v1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from controllers.horizontal_pod_autoscaler.model import AutoscalerSpec, Behavior, Rules

_UP_FACTOR, _UP_LEAST = 2, 4  # without a behavior: at most twice as many, or four

_HIGHEST = "recent recommendations were higher than current one, applying the highest recent recommendation"
_LOWEST = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_TOO_FAST_UP = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_TOO_FAST_DOWN = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_IN_RANGE = ("DesiredWithinRange", "the desired count is within the acceptable range")
_READY = ("ReadyForNewScale", "recommended size matches current size")


class Moment(NamedTuple):
    """So many replicas were called for, or added or removed, at that time."""

    replicas: int
    at: datetime


@dataclass(slots=True)
class Memory:
    """Of one autoscaler. What no window reaches any more is forgotten, so windows bound it."""

    recommendations: list[Moment] | None = None
    added: list[Moment] = field(default_factory=list)
    removed: list[Moment] = field(default_factory=list)

    def begin(self, current: int, now: datetime) -> None:
        """What there is when an autoscaler is first seen counts as called for."""
        if self.recommendations is None:
            self.recommendations = [Moment(current, now)]

    def rescaled(self, behavior: Behavior | None, before: int, after: int, now: datetime) -> None:
        """Only a behavior asks how much was done."""
        if behavior is None:
            return
        if after > before:
            self.added = [*_since(self.added, behavior.up.longest_period_seconds, now), Moment(after - before, now)]
        else:
            kept = _since(self.removed, behavior.down.longest_period_seconds, now)
            self.removed = [*kept, Moment(before - after, now)]

    def recommend(self, replicas: int, window_seconds: float, now: datetime) -> None:
        self.recommendations = [*_since(self.recommendations or (), window_seconds, now), Moment(replicas, now)]


class Limited(NamedTuple):
    replicas: int
    reason: str
    message: str


class Paced(NamedTuple):
    """`able` and `limited`: reason and message of AbleToScale and ScalingLimited."""

    replicas: int
    able: tuple[str, str]
    limited: tuple[str, str]
    is_limited: bool


def pace(spec: AutoscalerSpec, memory: Memory, current: int, desired: int, now: datetime) -> Paced:
    """How many replicas to have next. `desired` is noted in the memory, as it is."""
    if spec.behavior is None:
        window = spec.downscale_window_seconds
        stable, why = _highest_recent(memory, desired, window, now), ("ScaleDownStabilized", _HIGHEST)
        limited = _limited(spec, current, stable)
    else:
        stable, why = _stabilized(spec.behavior, memory, current, desired, now)
        limited = _limited_by_rules(spec, spec.behavior, memory, current, stable, now)
    able = why if stable != desired else _READY
    return Paced(limited.replicas, able, (limited.reason, limited.message), limited.replicas != stable)


def _highest_recent(memory: Memory, desired: int, window_seconds: float, now: datetime) -> int:
    recent = [one.replicas for one in _since(memory.recommendations or (), window_seconds, now, edge=True)]
    memory.recommend(desired, window_seconds, now)
    return max([desired, *recent])


def _stabilized(
    behavior: Behavior, memory: Memory, current: int, desired: int, now: datetime
) -> tuple[int, tuple[str, str]]:
    """What there is, moved only as far as the recommendations of the whole window agree."""
    past = memory.recommendations or ()
    lowest = min([desired, *(one.replicas for one in _since(past, behavior.up.window_seconds, now))])
    highest = max([desired, *(one.replicas for one in _since(past, behavior.down.window_seconds, now))])
    memory.recommend(desired, max(behavior.up.window_seconds, behavior.down.window_seconds), now)
    stable = min(max(current, lowest), highest)
    return stable, ("ScaleUpStabilized", _LOWEST) if desired >= current else ("ScaleDownStabilized", _HIGHEST)


def _limited(spec: AutoscalerSpec, current: int, desired: int) -> Limited:
    fastest = max(_UP_FACTOR * current, _UP_LEAST)
    most, why = (fastest, _TOO_FAST_UP) if spec.maximum > fastest else (spec.maximum, _TOO_MANY)
    if desired < spec.minimum:
        return Limited(spec.minimum, *_TOO_FEW)
    if desired > most:
        return Limited(most, *why)
    return Limited(desired, *_IN_RANGE)


def _limited_by_rules(
    spec: AutoscalerSpec, behavior: Behavior, memory: Memory, current: int, desired: int, now: datetime
) -> Limited:
    if desired > current:
        fastest = max(_limit(behavior.up, memory, current, 1, now), current)
        most, why = (fastest, _TOO_FAST_UP) if spec.maximum > fastest else (spec.maximum, _TOO_MANY)
        if desired > most:
            return Limited(most, *why)
    if desired < current:
        fastest = min(_limit(behavior.down, memory, current, -1, now), current)
        fewest, why = (fastest, _TOO_FAST_DOWN) if spec.minimum < fastest else (spec.minimum, _TOO_FEW)
        if desired < fewest:
            return Limited(fewest, *why)
    return Limited(desired, *_IN_RANGE)


def _limit(rules: Rules, memory: Memory, current: int, direction: int, now: datetime) -> int:
    """How far the policies let one go up (1) or down (-1) from what there was when their periods began."""
    if rules.select == "Disabled":
        return current
    limits = []
    for policy in rules.policies:
        added = sum(one.replicas for one in _since(memory.added, policy.period_seconds, now))
        removed = sum(one.replicas for one in _since(memory.removed, policy.period_seconds, now))
        start = current - added + removed
        if policy.type == "Pods":
            limits.append(start + direction * policy.value)
        else:
            share = start * (1 + direction * policy.value / 100)
            limits.append(math.ceil(share) if direction > 0 else int(share))
    farthest, nearest = (max, min) if direction > 0 else (min, max)
    return (nearest if rules.select == "Min" else farthest)(limits)


def _since(moments: Iterable[Moment], seconds: float, now: datetime, edge: bool = False) -> list[Moment]:
    """Those of the last so many seconds; `edge`: those of just then too."""
    start = now - timedelta(seconds=seconds)
    return [one for one in moments if one.at > start or (edge and one.at == start)]
