"""Parsing of RFC 3339 times as Go's time.Parse does it, with its error messages.

Two layouts exist in the API: metav1.Time's, where a fraction of a second may follow but need not, and
metav1.MicroTime's, which has exactly six digits of it. A layout is a sequence of elements; a parser that fails says
which element it was at and what was left of the text. `scalars` is the only caller.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

RFC3339 = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00")
MICRO_TIME_LAYOUT = (*RFC3339[:-1], ".000000", "Z07:00")

# Reads the front of a text into the values and returns the rest; ValueError without words where it does not fit,
# _OutOfRange where it does but cannot be.
Element = Callable[[str, dict[str, int]], str]


class _OutOfRange(ValueError):
    """An element was a number, but no such month, hour or offset exists; `rest` is the text behind it."""

    def __init__(self, what: str, rest: str) -> None:
        super().__init__(what)
        self.what, self.rest = what, rest


def parse(layout: tuple[str, ...], text: str) -> datetime:
    """The instant `text` names; ValueError in Go's words where it does not follow `layout`."""
    values: dict[str, int] = {}
    rest = text
    for i, name in enumerate(layout):
        try:
            rest = _ELEMENTS.get(name, _literal(name))(rest, values)
        except _OutOfRange as error:
            raise ValueError(f"parsing time {_quote(text)}: {error.what} out of range") from None
        except ValueError:
            expected = f"{_quote(text)} as {_quote(''.join(layout))}"
            raise ValueError(f"parsing time {expected}: cannot parse {_quote(rest)} as {_quote(name)}") from None
        if name == "05" and layout[i + 1] != ".000000":
            rest = _optional_fraction(rest, values)
    if rest:
        raise ValueError(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    return _instant(text, values)


def _instant(text: str, values: dict[str, int]) -> datetime:
    year, month, day = values["year"], values["month"], values["day"]
    days = 29 if month == 2 and calendar.isleap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    if not 1 <= day <= days:
        raise ValueError(f"parsing time {_quote(text)}: day out of range")
    try:
        local = datetime(
            year, month, day, values["hour"], values["minute"], values["second"], values.get("micro", 0), tzinfo=UTC
        )
        return local - timedelta(minutes=values["offset"])
    except (ValueError, OverflowError):
        # Go's calendar knows the year 0 and years beyond 9999 after an offset; JSON has no form for them.
        raise ValueError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _quote(text: str) -> str:
    """As package time quotes: whatever is no printable ASCII as its bytes in hexadecimal."""
    return '"' + "".join(_quoted(character) for character in text) + '"'


def _quoted(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character < "\x80":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _literal(separator: str) -> Element:
    def element(text: str, values: dict[str, int]) -> str:
        if not text.startswith(separator):
            raise ValueError
        return text[len(separator) :]

    return element


def _number(name: str, pattern: str, lowest: int, highest: int, what: str) -> Element:
    front = re.compile(pattern, re.ASCII)

    def element(text: str, values: dict[str, int]) -> str:
        match = front.match(text)
        if match is None:
            raise ValueError
        values[name] = int(match[0])
        if not lowest <= values[name] <= highest:
            raise _OutOfRange(what, text[match.end() :])
        return text[match.end() :]

    return element


def _six_digits(text: str, values: dict[str, int]) -> str:
    match = re.match(r"[.,](\d{6})", text, re.ASCII)
    if match is None:
        raise ValueError
    values["micro"] = int(match[1])
    return text[match.end() :]


def _optional_fraction(text: str, values: dict[str, int]) -> str:
    match = re.match(r"[.,](\d+)", text, re.ASCII)
    if match is None:
        return text
    values["micro"] = int(match[1][:6].ljust(6, "0"))
    return text[match.end() :]


def _offset(text: str, values: dict[str, int]) -> str:
    if text.startswith("Z"):
        values["offset"] = 0
        return text[1:]
    match = re.match(r"([+-])(\d\d):(\d\d)", text, re.ASCII)
    if match is None:
        raise ValueError
    rest = text[match.end() :]
    hours, minutes = int(match[2]), int(match[3])
    if hours > 24:
        raise _OutOfRange("time zone offset hour", rest)
    if minutes > 60:
        raise _OutOfRange("time zone offset minute", rest)
    values["offset"] = (hours * 60 + minutes) * (-1 if match[1] == "-" else 1)
    return rest


_ELEMENTS: dict[str, Element] = {
    "2006": _number("year", r"\d{4}", 0, 9999, "year"),
    "01": _number("month", r"\d\d", 1, 12, "month"),
    "02": _number("day", r"\d\d", 0, 99, "day"),
    "15": _number("hour", r"\d\d?", 0, 23, "hour"),
    "04": _number("minute", r"\d\d", 0, 59, "minute"),
    "05": _number("second", r"\d\d", 0, 59, "second"),
    ".000000": _six_digits,
    "Z07:00": _offset,
}
