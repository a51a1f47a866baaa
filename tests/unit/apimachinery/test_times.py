"""RFC 3339 instants."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import times


def test_seconds_are_cut_and_years_padded() -> None:
    """metav1.Time has whole seconds and four digits of a year."""
    assert "0099-01-02T03:04:05Z" == times.format_time(datetime(99, 1, 2, 3, 4, 5, 999999, tzinfo=UTC))
    assert "2026-01-02T03:04:05.000006Z" == times.format_micro_time(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_moment_is_written_as_rfc_3339_has_it(moment: datetime) -> None:
    """As Python writes it, but for the Z; reading it gives the same second."""
    text = times.format_time(moment)

    assert moment.isoformat(timespec="seconds").replace("+00:00", "Z") == text
    assert moment.replace(microsecond=0) == times.parse_time(text)


def test_offsets_are_turned_into_utc() -> None:
    """An instant of another zone is read as the same instant in UTC."""
    assert datetime(2026, 1, 1, 23, 0, tzinfo=UTC) == times.parse_time("2026-01-02T01:00:00.5+02:00").replace(
        microsecond=0
    )


@pytest.mark.parametrize("text", ["", "2026-01-02", "20260102T030405Z", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05"])
def test_other_forms_of_iso_8601_are_refused(text: str) -> None:
    """Only RFC 3339 with a zone is an instant."""
    with pytest.raises(ValueError, match="no RFC 3339 instant"):
        times.parse_time(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1.5, "2026-01-01T00:00:01Z"), (2**63 - 1, "9999-12-31T23:59:59Z"), (-(2**63), "0001-01-01T00:00:00Z")],
)
def test_moments_end_where_time_does(seconds: float, expected: str) -> None:
    """Any int64 may be added; what is beyond all time is its last or first moment."""
    assert expected == times.format_time(times.moment_after(datetime(2026, 1, 1, tzinfo=UTC), seconds))
