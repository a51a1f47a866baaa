"""Ages as kubectl shows them."""

import pytest

from apiserver.printing.durations import human_duration, short_human_duration, since, until
from kubeloop.apimachinery.times import parse_time

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (4 * MINUTE + 30, "4m30s"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 20 * DAY, "2y20d"),
        (8 * YEAR + 20 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, expected: str) -> None:
    """human_duration cuts, never rounds, and drops a second unit of zero."""
    assert expected == human_duration(seconds)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-5, "<invalid>"), (-1, "0s"), (59, "59s"), (119, "1m"), (23 * HOUR, "23h"), (YEAR - 1, "364d"), (YEAR, "1y")],
)
def test_a_short_duration_has_one_unit(seconds: float, expected: str) -> None:
    """short_human_duration shows the largest unit only."""
    assert expected == short_human_duration(seconds)


def test_an_instant_is_shown_by_its_distance_from_now() -> None:
    """since counts back, until ahead, and both say <unknown> where there is no instant."""
    now = parse_time("2026-01-02T00:00:00Z")

    shown = [since("2026-01-01T23:59:00Z", now), until("2026-01-02T00:05:00Z", now), since(None, now), until("", now)]

    assert ["60s", "5m", "<unknown>", "<unknown>"] == shown
