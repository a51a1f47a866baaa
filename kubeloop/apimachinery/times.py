"""metav1.Time and metav1.MicroTime: RFC 3339 text to aware UTC datetimes and back."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """`2026-01-02T03:04:05Z`: whole seconds, cut and not rounded, as metav1.Time is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """`2026-01-02T03:04:05.678901Z`: always six digits, as metav1.MicroTime is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """An RFC 3339 instant as an aware UTC datetime; ValueError where it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return moment.astimezone(UTC)


def seconds_since(text: str, now: datetime) -> float:
    """Seconds from the instant `text` to `now`; negative where it lies ahead."""
    return (now - parse_time(text)).total_seconds()
