"""Sets of indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.job import intervals

INDEXES = st.sets(st.integers(0, 60))


@pytest.mark.parametrize(
    ("text", "completions", "expected"),
    [
        ("", 5, ""),
        ("0,2-4", 5, "0,2-4"),
        ("0,1", 5, "0,1"),
        ("0-2", 5, "0-2"),
        ("0,1,2", 5, "0-2"),
        ("1-3,7", 3, "1,2"),
        ("5", 5, ""),
        ("x,1,2-y", 5, "1"),
    ],
)
def test_texts_are_read_with_indulgence(text: str, completions: int, expected: str) -> None:
    """What is no interval is passed over, what is too large is cut off, neighbours are joined."""
    assert expected == intervals.to_text(intervals.parse(text, completions))


@given(INDEXES, INDEXES)
def test_intervals_are_sets(left: set[int], right: set[int]) -> None:
    """Union, intersection, size and membership are those of the sets, and the text says it all."""
    a, b = intervals.of(left), intervals.of(right)

    assert intervals.of(left | right) == intervals.union(a, b)
    assert (len(left), len(left & right)) == (intervals.total(a), intervals.common(a, b))
    assert [i in left for i in range(62)] == [intervals.contains(a, i) for i in range(62)]
    assert a == intervals.parse(intervals.to_text(a), 61)


@given(INDEXES, st.integers(0, 10), st.integers(0, 61))
def test_the_first_missing_ones_are_found(taken: set[int], count: int, completions: int) -> None:
    """In order, no more than asked for, none beyond the completions."""
    expected = [i for i in range(completions) if i not in taken][:count]

    assert expected == intervals.first_missing(intervals.of(taken), count, completions)
