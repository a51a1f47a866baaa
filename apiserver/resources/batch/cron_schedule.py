"""Cron expressions: whether one is understood, and what is said where it is not.

The language and the words are those of github.com/robfig/cron/v3, which Kubernetes uses.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kubeloop.apimachinery.field import go_quote

FIELDS = 5
DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch
_DURATION_PART = re.compile(r"(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<unit>[^0-9.]*)")
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


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


def check_schedule(text: str) -> None:
    """Raises ScheduleError where `text` is no schedule."""
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        _, blank, text = text.partition(" ")
        if not blank:
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        text = text.strip()
    if text.startswith("@"):
        _check_descriptor(text)
        return
    fields = text.split()
    if len(fields) != FIELDS:
        raise ScheduleError(f"expected exactly {FIELDS} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _BOUNDS, strict=True):
        for part in filter(None, field.split(",")):
            _check_range(part, bounds)


def _check_descriptor(text: str) -> None:
    if text in DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    if reason := _duration_error(text.removeprefix("@every ")):
        raise ScheduleError(f"failed to parse duration {text}: time: {reason}")


def _duration_error(text: str) -> str:
    """What Go's time.ParseDuration has against `text`; "" where it is a duration."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return f"invalid duration {go_quote(text)}"
    while rest:
        part = _DURATION_PART.match(rest)
        if part is None:
            return f"invalid duration {go_quote(text)}"
        if not part["unit"]:
            return f"missing unit in duration {go_quote(text)}"
        if part["unit"] not in _UNITS:
            return f"unknown unit {go_quote(part['unit'])} in duration {go_quote(text)}"
        rest = rest[part.end() :]
    return ""


def _check_range(text: str, bounds: _Bounds) -> None:
    parts = text.split("/")
    limits = parts[0].split("-")
    if limits[0] in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = end = _number_or_name(limits[0], bounds)
        if len(limits) == 2:
            end = _number_or_name(limits[1], bounds)
        elif len(limits) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
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


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _is_integer(text):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    if (number := int(text)) < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
