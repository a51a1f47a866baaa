"""Scalars read from JSON strings: the quick way for texts that are as they should be agrees with the parser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.schema import go_time, scalars
from kubeloop.apimachinery.times import format_micro_time, format_time

# Years from 1 on: the parser's calendar has no year 0, which Go writes as it is.
MOMENTS = st.tuples(
    st.sampled_from(("0001", "1900", "2000", "2024", "2026", "9999")),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 25),
    st.integers(58, 61),
    st.integers(58, 61),
).map(lambda parts: "{}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*parts))


def outcome(read: Callable[[str], str | None], text: str) -> str | None:
    try:
        return read(text)
    except ValueError as error:
        return f"refused: {error}"


@given(MOMENTS)
def test_times_without_fractions_are_what_the_parser_makes_of_them(moment: str) -> None:
    """Days that months do not have and hours that days do not have are refused in its words, the others taken."""
    text = f"{moment}Z"
    parsed = outcome(lambda text: format_time(go_time.parse(go_time.RFC3339, text)).rjust(20, "0"), text)

    assert outcome(scalars.time_text, text) == (None if parsed == "0001-01-01T00:00:00Z" else parsed)


@given(MOMENTS, st.sampled_from(("", ".", ".000000", ".12345", ".123456", ".1234567", ",123456")))
def test_micro_times_are_what_the_parser_makes_of_them(moment: str, fraction: str) -> None:
    """Six digits behind a point are taken as they are, anything else goes to the parser."""
    text = f"{moment}{fraction}Z"
    parsed = outcome(
        lambda text: format_micro_time(go_time.parse(go_time.MICRO_TIME_LAYOUT, text)).rjust(27, "0"), text
    )

    assert outcome(scalars.micro_time_text, text) == (None if parsed == "0001-01-01T00:00:00.000000Z" else parsed)


@pytest.mark.parametrize("day", ["01-31", "04-30", "12-29", "02-28"])
def test_the_last_days_of_months_need_no_parser(day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is not slower at the end of a month."""
    monkeypatch.setattr(scalars, "parse", None)

    assert scalars.time_text(f"2026-{day}T23:59:59Z") == f"2026-{day}T23:59:59Z"
    assert scalars.micro_time_text(f"2026-{day}T23:59:59.000001Z") == f"2026-{day}T23:59:59.000001Z"
