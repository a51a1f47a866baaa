"""Sets of completion indexes as ordered intervals, and as the text of a Job's status (`0,2-5,7`). Pure.

Two neighbours are written with a comma, three or more with a dash. What a status says that is no interval is passed
over, and what lies beyond the completions is cut off (pkg/controller/job/indexed_job_utils.go, v1.36).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

Intervals = tuple[tuple[int, int], ...]

EMPTY: Intervals = ()


def parse(text: str, completions: int) -> Intervals:
    found = []
    for part in text.split(",") if text else ():
        limits = part.split("-")
        try:
            first, last = int(limits[0]), int(limits[1] if len(limits) > 1 else limits[0])
        except ValueError:
            continue
        if first >= completions:
            break
        found.append((first, min(last, completions - 1)))
    return _merged(found)


def of(indexes: Iterable[int]) -> Intervals:
    return _merged((index, index) for index in sorted(indexes))


def union(left: Intervals, right: Intervals) -> Intervals:
    return _merged(sorted((*left, *right)))


def total(intervals: Intervals) -> int:
    """How many indexes there are."""
    return sum(last - first + 1 for first, last in intervals)


def contains(intervals: Intervals, index: int) -> bool:
    position = bisect_left(intervals, index, key=lambda interval: interval[1])
    return position < len(intervals) and intervals[position][0] <= index


def common(left: Intervals, right: Intervals) -> int:
    """How many indexes both have."""
    overlap, i, j = 0, 0, 0
    while i < len(left) and j < len(right):
        (first, last), (other_first, other_last) = left[i], right[j]
        overlap += max(0, min(last, other_last) - max(first, other_first) + 1)
        i, j = i + (last <= other_last), j + (other_last <= last)
    return overlap


def first_missing(intervals: Intervals, count: int, completions: int) -> list[int]:
    """The lowest `count` indexes below `completions` that are not there."""
    missing: list[int] = []
    candidate = 0
    for first, last in (*intervals, (completions, completions)):
        missing += range(candidate, min(first, completions, candidate + count - len(missing)))
        candidate = max(candidate, last + 1)
    return missing


def to_text(intervals: Intervals) -> str:
    return ",".join(_interval_text(first, last) for first, last in intervals)


def _interval_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def _merged(ordered: Iterable[tuple[int, int]]) -> Intervals:
    """Intervals in the order of their beginnings, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for first, last in ordered:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)
