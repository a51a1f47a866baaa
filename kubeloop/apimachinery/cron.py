"""Cron expressions: whether one is understood, what is said where it is not, and when it is due next.

The language, the words and the times are those of github.com/robfig/cron/v3, which Kubernetes uses. Validation asks
only whether an expression parses; the CronJob loop asks for times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.go_duration import duration_error, duration_seconds
from kubeloop.apimachinery.time_zones import time_zone_error

FIELDS = 5
DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

# How far ahead a time is looked for: the 29th of February comes within it, the 31st of it never.
SEARCH_YEARS = 5

_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


class _Bounds(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_BOUNDS = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: i for i, name in enumerate(MONTHS, 1)}),
    _Bounds(0, 6, {name: i for i, name in enumerate(DAYS)}),
)


class ScheduleError(ValueError):
    """Why an expression is not understood."""


class _Field(NamedTuple):
    values: frozenset[int]
    is_any: bool  # it has a `*` without a step


class Schedule(Protocol):
    """When something is due."""

    @property
    def zone(self) -> str:
        """The time zone that the expression itself names; "" where it names none."""
        ...

    def next(self, after: datetime) -> datetime | None:
        """The first due time later than `after`, by the clocks of its time zone; None where there is none for years."""
        ...


@dataclass(frozen=True, slots=True)
class _Every:
    zone: str
    seconds: int

    def next(self, after: datetime) -> datetime | None:
        return (after.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=self.seconds)).astimezone(after.tzinfo)


@dataclass(frozen=True, slots=True)
class _Fields:
    """A time that a change of the clocks skips is never due; one that it repeats is due twice."""

    zone: str
    fields: tuple[_Field, ...]

    def next(self, after: datetime) -> datetime | None:
        minutes, hours, _, months, _ = self.fields
        # Steps are made in UTC and judged by the local clock, so that no change of the clocks is stepped over.
        moment = after.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        last_year = after.year + SEARCH_YEARS
        while (local := moment.astimezone(after.tzinfo)).year <= last_year:
            if local.month not in months.values:
                moment = _first_of_next_month(local)
            elif not self._has_day(local):
                moment = _midnight_after(local)
            elif local.hour not in hours.values:
                moment += _HOUR - timedelta(minutes=local.minute)
            elif local.minute not in minutes.values:
                moment += _MINUTE
            else:
                return local
        return None

    def _has_day(self, local: datetime) -> bool:
        """Where both day fields are restricted, one of them is enough."""
        _, _, days, _, weekdays = self.fields
        is_day, is_weekday = local.day in days.values, local.isoweekday() % 7 in weekdays.values
        if days.is_any or weekdays.is_any:
            return is_day and is_weekday
        return is_day or is_weekday


def _midnight_after(local: datetime) -> datetime:
    following = local.date() + timedelta(days=1)
    return datetime(following.year, following.month, following.day, tzinfo=local.tzinfo).astimezone(UTC)


def _first_of_next_month(local: datetime) -> datetime:
    year, month = (local.year + 1, 1) if local.month == 12 else (local.year, local.month + 1)
    return datetime(year, month, 1, tzinfo=local.tzinfo).astimezone(UTC)


def parse_schedule(text: str) -> Schedule:
    """Raises ScheduleError where `text` is no schedule."""
    if not text:
        raise ScheduleError("empty spec string")
    zone = ""
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, blank, text = text.partition(" ")
        if not blank:
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone, text = prefix.partition("=")[2], text.strip()
        if why := time_zone_error(zone):
            raise ScheduleError(f"provided bad location {zone}: {why}")
    if text.startswith("@every "):
        return _Every(zone, _every_seconds(text))
    if text.startswith("@"):
        if text not in DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = DESCRIPTORS[text]
    fields = text.split()
    if len(fields) != FIELDS:
        raise ScheduleError(f"expected exactly {FIELDS} fields, found {len(fields)}: [{' '.join(fields)}]")
    return _Fields(zone, tuple(_field(field, bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)))


def _every_seconds(text: str) -> int:
    """Whole seconds, and at least one."""
    duration = text.removeprefix("@every ")
    if reason := duration_error(duration):
        raise ScheduleError(f"failed to parse duration {text}: time: {reason}")
    return max(1, int(round(duration_seconds(duration), 9)))


def _field(text: str, bounds: _Bounds) -> _Field:
    parts = [_range(part, bounds) for part in text.split(",") if part]
    return _Field(frozenset(value for part in parts for value in part.values), any(part.is_any for part in parts))


def _range(text: str, bounds: _Bounds) -> _Field:
    parts = text.split("/")
    limits = parts[0].split("-")
    is_star = limits[0] in ("*", "?")
    if is_star:
        start, end = bounds.low, bounds.high
    else:
        start, end = _limits(text, limits, bounds)
    step = 1
    if len(parts) == 2:
        step = _number(parts[1])
        if len(limits) == 1:
            end = bounds.high
    elif len(parts) > 2:
        raise ScheduleError(f"too many slashes: {text}")
    if start < bounds.low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return _Field(frozenset(range(start, end + 1, step)), is_star and step == 1)


def _limits(text: str, limits: Sequence[str], bounds: _Bounds) -> tuple[int, int]:
    start = end = _number_or_name(limits[0], bounds)
    if len(limits) == 2:
        end = _number_or_name(limits[1], bounds)
    elif len(limits) > 2:
        raise ScheduleError(f"too many hyphens: {text}")
    return start, end


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _is_integer(text):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    if (number := int(text)) < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
