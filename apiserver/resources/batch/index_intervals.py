"""Lists of pod indexes as text (`0,2-5,7`): what an Indexed Job's policies and status are written in."""

from __future__ import annotations

import re
from contextlib import suppress

from kubeloop.apimachinery.field import go_quote

_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


class IntervalError(ValueError):
    """Why a text is no list of indexes."""


def count_indexes(text: str, completions: int) -> int:
    """How many indexes `text` lists; raises IntervalError where they are out of order or out of range."""
    return sum(last - first + 1 for first, last in parse_intervals(text, completions))


def parse_intervals(text: str, completions: int) -> list[tuple[int, int]]:
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if intervals and intervals[-1][1] >= first:
            raise IntervalError(f"non-increasing order, previous: {intervals[-1][1]}, current: {first}")
        intervals.append((first, last))
    return intervals


def first_overlap(left: str, right: str, completions: int) -> int | None:
    """The first index that both lists have, which are read side by side; what is no interval is passed over."""
    these, those = _good_intervals(left, completions), _good_intervals(right, completions)
    i = j = 0
    while i < len(these) and j < len(those):
        (first, last), (other_first, other_last) = these[i], those[j]
        if first <= other_last and other_first <= last:
            return max(first, other_first)
        if first <= other_first:
            i += 1
        else:
            j += 1
    return None


def _good_intervals(text: str, completions: int) -> list[tuple[int, int]]:
    intervals = []
    for part in text.split(",") if text else ():
        with suppress(IntervalError):
            intervals.append(_interval(part, completions))
    return intervals


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        raise IntervalError(
            f"the fragment {go_quote(text)} violates the requirement that an index interval "
            "can have at most two parts separated by '-'"
        )
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _index(limits[1], completions)
    if first >= last:
        raise IntervalError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not _is_integer(text):
        raise IntervalError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise IntervalError(f"too large index: {go_quote(text)}")
    return int(text)
