"""Durations and ages as people read them (k8s.io/apimachinery/pkg/util/duration, v1.36).

Called by table cells; kubectl's own columns (`kubectl describe`) are kubectl's business.
"""

from __future__ import annotations

from datetime import datetime

from kubeloop.apimachinery.times import seconds_since

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY_HOURS = 24
_YEAR_HOURS = 365 * _DAY_HOURS


def human_duration(seconds: float) -> str:
    """Two or three significant figures: `95s`, `4m30s`, `2d3h`, `3y20d`.

    Up to two seconds in the future count as now (machines' clocks differ); beyond that it is `<invalid>`.
    """
    whole = int(seconds)
    if whole < 0:
        return INVALID if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, "m", _MINUTE, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole // _MINUTE, "h", 60, "m")
    hours = whole // _HOUR
    if hours < 2 * _DAY_HOURS:
        return f"{hours}h"
    if hours < 8 * _DAY_HOURS:
        return _two_units(hours, "d", _DAY_HOURS, "h")
    if hours < 2 * _YEAR_HOURS:
        return f"{hours // _DAY_HOURS}d"
    if hours < 8 * _YEAR_HOURS:
        return _two_units(hours // _DAY_HOURS, "y", 365, "d")
    return f"{hours // _YEAR_HOURS}y"


def short_human_duration(seconds: float) -> str:
    """One unit only: `95s` is `1m`."""
    whole = int(seconds)
    if whole < 0:
        return INVALID if whole < -1 else "0s"
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    hours = whole // _HOUR
    if hours < _DAY_HOURS:
        return f"{hours}h"
    if hours < _YEAR_HOURS:
        return f"{hours // _DAY_HOURS}d"
    return f"{hours // _YEAR_HOURS}y"


def since(instant: str | None, now: datetime) -> str:
    """How long ago the RFC 3339 `instant` was; `<unknown>` where there is none."""
    return human_duration(seconds_since(instant, now)) if instant else UNKNOWN


def until(instant: str | None, now: datetime) -> str:
    """How far ahead `instant` lies; `<unknown>` where there is none."""
    return human_duration(-seconds_since(instant, now)) if instant else UNKNOWN


def _two_units(count: int, unit: str, size: int, smaller_unit: str) -> str:
    """`count` smaller units as `4m30s`, or `4m` where nothing is left over."""
    whole, rest = divmod(count, size)
    return f"{whole}{unit}{rest}{smaller_unit}" if rest else f"{whole}{unit}"
