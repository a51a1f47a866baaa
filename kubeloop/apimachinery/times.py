"""metav1.Time and metav1.MicroTime: RFC 3339 text to aware UTC datetimes and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import orjson

_WHOLE_SECONDS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
_is_rfc3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch


def format_time(moment: datetime) -> str:
    """`2026-01-02T03:04:05Z`: whole seconds, cut and not rounded, as metav1.Time is written."""
    moment = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return orjson.dumps(moment, option=_WHOLE_SECONDS)[1:-1].decode()  # four times as quick as isoformat


def format_micro_time(moment: datetime) -> str:
    """`2026-01-02T03:04:05.678901Z`: always six digits, as metav1.MicroTime is written."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """An RFC 3339 instant as an aware UTC datetime; ValueError where it is none."""
    if not _is_rfc3339(text):
        raise ValueError(f"no RFC 3339 instant: {text!r}")
    return datetime.fromisoformat(text).astimezone(UTC)


def seconds_since(text: str, now: datetime) -> float:
    """Seconds from the instant `text` to `now`; negative where it lies ahead."""
    return (now - parse_time(text)).total_seconds()


def moment_after(moment: datetime, seconds: float) -> datetime:
    """`moment` plus so many seconds, or minus; the last or first moment there is where that is beyond all time.

    For numbers from specs, which may be as large as an int64 is.
    """
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
