"""Durations as Go writes them: `1h30m`, `-1.5s`. Words are those of time.ParseDuration."""

from __future__ import annotations

import re

from kubeloop.apimachinery.field import go_quote

_PART = re.compile(r"(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<unit>[^0-9.]*)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_error(text: str) -> str:
    """What is wrong with `text`, to be put after "time: "; "" where it is a duration."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return f"invalid duration {go_quote(text)}"
    while rest:
        part = _PART.match(rest)
        if part is None:
            return f"invalid duration {go_quote(text)}"
        if not part["unit"]:
            return f"missing unit in duration {go_quote(text)}"
        if part["unit"] not in _UNITS:
            return f"unknown unit {go_quote(part['unit'])} in duration {go_quote(text)}"
        rest = rest[part.end() :]
    return ""


def duration_seconds(text: str) -> float:
    """The seconds of a duration."""
    seconds = sum(float(part["number"]) * _UNITS.get(part["unit"], 0) for part in _PART.finditer(text))
    return -seconds if text.startswith("-") else seconds


def duration_text(seconds: float) -> str:
    """Seconds as Go prints them, down to milliseconds: `1h0m0s`, `1m30s`, `500ms`, `0s`."""
    milliseconds = round(abs(seconds) * 1000)
    sign = "-" if seconds < 0 and milliseconds else ""
    if 0 < milliseconds < 1000:
        return f"{sign}{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text
