"""Durations and timestamps as texts, in Go's spelling."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kubeloop.apimachinery.times import parse_time
from kubeloop.cel.values import EvaluationError

_UNITS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)")


def parse_duration(text: str) -> timedelta:
    """`1h30m` and the like, as Go's time.ParseDuration reads it."""
    if not _DURATION.fullmatch(text):
        raise EvaluationError(f'time: invalid duration "{text}"')
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return timedelta(microseconds=-total if text.startswith("-") else total)


def duration_text(duration: timedelta) -> str:
    """As CEL converts it: seconds with as many digits as needed."""
    seconds = duration.total_seconds()
    return f"{int(seconds)}s" if seconds.is_integer() else f"{seconds:.6f}".rstrip("0") + "s"


def parse_timestamp(text: str) -> datetime:
    """An RFC 3339 instant, in its own zone."""
    try:
        parse_time(text)
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise EvaluationError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse') from error


def timestamp_text(moment: datetime) -> str:
    local = moment.replace(tzinfo=None)
    whole = local.isoformat(timespec="seconds")
    fraction = f".{local.microsecond:06d}".rstrip("0").rstrip(".")
    offset = moment.utcoffset() or timedelta()
    if not offset:
        return f"{whole}{fraction}Z"
    sign, minutes = "-" if offset < timedelta() else "+", abs(offset) // timedelta(minutes=1)
    return f"{whole}{fraction}{sign}{minutes // 60:02d}:{minutes % 60:02d}"
