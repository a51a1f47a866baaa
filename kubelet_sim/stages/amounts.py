"""Weights and delays: numbers that a Stage gives, or finds in the object (`weightFrom`, `durationFrom`).

Semantics: kwok's pkg/utils/lifecycle/value_int_from.go and value_duration_from.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubelet_sim.stages.expression import Cel, Query
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.times import parse_time

_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class From:
    """Where a value is found in an object: by jq, or by CEL."""

    query: Query | None
    cel: Cel | None

    def value(self, obj: ReadOnlyObject) -> Any:
        """None where there is none."""
        if self.cel is not None:
            return self.cel.value(obj)
        assert self.query is not None
        return next(iter(self.query.find(obj)), None)


@dataclass(frozen=True, slots=True)
class Weight:
    amount: int
    found: From | None

    def of(self, obj: ReadOnlyObject) -> int | None:
        """None: what is found is no number, so the stage is drawn only where no other has a weight."""
        value = self.found.value(obj) if self.found else None
        if value is None:
            return self.amount
        if isinstance(value, str):
            return _whole(value)
        if isinstance(value, timedelta):
            return int(value.total_seconds() * _NANOSECONDS)
        return int(value) if isinstance(value, (bool, int, float)) else self.amount


@dataclass(frozen=True, slots=True)
class Duration:
    milliseconds: int | None
    found: From | None

    def seconds(self, obj: ReadOnlyObject, now: datetime) -> float | None:
        """A time that is found counts from now. None: there is none."""
        value = self.found.value(obj) if self.found else None
        if value == "":
            return None
        seconds = _seconds(value, now) if self.found and self.found.cel else _seconds_of_text(value, now)
        if seconds is not None:
            return seconds
        return None if self.milliseconds is None else self.milliseconds / 1000


@dataclass(frozen=True, slots=True)
class Delay:
    duration: Duration
    jitter: Duration

    def seconds(self, obj: ReadOnlyObject, now: datetime, share: Callable[[], float]) -> float:
        """As in kwok: the jitter is the longest delay, and the delay itself where it is shorter."""
        least = self.duration.seconds(obj, now)
        if least is None:
            return 0.0
        most = self.jitter.seconds(obj, now)
        if most is None:
            return max(least, 0.0)
        return max(most if most <= least else least + (most - least) * share(), 0.0)


def _whole(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _seconds_of_text(value: Any, now: datetime) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return (parse_time(value) - now).total_seconds()
    except ValueError:
        return None if duration_error(value) else duration_seconds(value)


def _seconds(value: Any, now: datetime) -> float | None:
    """Of what CEL gives: numbers are nanoseconds, as Go's durations are."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return (value - now).total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value / _NANOSECONDS
    return _seconds_of_text(value, now)
