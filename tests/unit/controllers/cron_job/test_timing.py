"""When a CronJob was due last and is due next; it is 12:00 on a Thursday."""

from datetime import timedelta
from typing import Any

import pytest

from controllers.cron_job.timing import ImpossibleSchedule, UnknownZone, timing_of
from tests.unit.controllers.cron_jobs import a_cron_job
from tests.unit.controllers.workloads import NOW

HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("schedule", "fields", "seconds_ago", "missed"),
    [
        ("* * * * *", {"last": 0}, None, 0),
        ("* * * * *", {"last": 60}, 0, 0),
        ("* * * * *", {"last": 600}, 0, 10),
        ("* * * * *", {"age": 30}, 0, 0),
        ("* * * * *", {"last": 101 * 60}, 0, 101),
        ("5 * * * *", {"last": 7 * HOUR}, 55 * 60, 7),
        ("0 0 1 1 *", {"last": 900 * DAY}, 12 * HOUR, 2),
        ("30 6-16/4 * * 1-5", {"last": 3 * DAY}, 5400, 5),
        ("0 12 * * *", {"last": DAY, "startingDeadlineSeconds": 10}, 0, 0),
        ("59 11 * * *", {"last": DAY, "startingDeadlineSeconds": 10}, None, 0),
        ("59 11 * * *", {"last": DAY, "startingDeadlineSeconds": 100}, 60, 0),
        ("@every 7m", {"last": 20 * 60}, 6 * 60, 2),
        ("* * * * *", {"last": 60, "startingDeadlineSeconds": 2**63 - 1}, 0, 0),
    ],
)
def test_only_the_latest_time_counts(schedule: str, fields: dict[str, Any], seconds_ago: int, missed: int) -> None:
    """Since the last one, or the creation, and not longer ago than the deadline allows; how many is an estimate."""
    due = timing_of(a_cron_job(schedule, **fields)).due(NOW)

    expected = None if seconds_ago is None else NOW - timedelta(seconds=seconds_ago)
    assert (expected, missed) == (due.latest, due.missed)


@pytest.mark.parametrize(
    ("schedule", "fields", "expected"),
    [
        ("* * * * *", {"last": 0}, 60.1),
        ("*/7 * * * *", {"last": 240}, 420.1),
        ("0 13 * * *", {"last": 600 * DAY}, 3600.1),
        ("0 13 * * *", {"last": 600 * DAY, "startingDeadlineSeconds": 5}, 3600.1),
        ("0 12 * * *", {"timeZone": "Asia/Tokyo", "last": HOUR}, 15 * HOUR + 0.1),
        ("0 13 31 2 *", {}, None),
    ],
)
def test_it_is_looked_at_again_a_moment_after_the_next_time(
    schedule: str, fields: dict[str, Any], expected: float | None
) -> None:
    """In the CronJob's own time zone; never, where it is never due."""
    actual = timing_of(a_cron_job(schedule, **fields)).seconds_to_next(NOW)

    assert expected == (None if actual is None else pytest.approx(actual))


def test_days_that_never_come_are_an_error() -> None:
    """Nothing is missed of a schedule that cannot be."""
    with pytest.raises(ImpossibleSchedule):
        timing_of(a_cron_job("0 0 31 2 *")).due(NOW)


def test_a_zone_in_the_schedule_comes_first() -> None:
    """The old spelling is still understood; a zone nobody knows is an error."""
    timing = timing_of(a_cron_job("TZ=Asia/Tokyo 0 12 * * *", last=HOUR))

    assert pytest.approx(15 * HOUR + 0.1) == timing.seconds_to_next(NOW)
    with pytest.raises(UnknownZone, match="unknown time zone Moon/Crater"):
        timing_of(a_cron_job(timeZone="Moon/Crater"))
