"""Cron expressions: which are understood, and when they are due."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kubeloop.apimachinery.cron import ScheduleError, parse_schedule


@pytest.mark.parametrize(
    ("schedule", "zone"),
    [
        ("* * * * *", ""),
        ("*/5 0-4 1,,15 jan-mar mon", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("0 0 ? * 0", ""),
        ("TZ=UTC 0 0 * * *", "UTC"),
        ("CRON_TZ=Asia/Tokyo @daily", "Asia/Tokyo"),
    ],
)
def test_schedules_are_understood(schedule: str, zone: str) -> None:
    """Fields, steps, ranges, names, descriptors, intervals and time zones are all schedules."""
    assert zone == parse_schedule(schedule).zone


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * * * mon-", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("", "empty spec string"),
        ("TZ=Foo/Bar * * * * *", "provided bad location Foo/Bar: unknown time zone Foo/Bar"),
        ("CRON_TZ=../x @daily", "provided bad location ../x: time: invalid location name"),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
    ],
)
def test_bad_schedules_are_explained(schedule: str, reason: str) -> None:
    """Why a schedule is not understood is said in the words of the library the real server uses."""
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(schedule)

    assert reason == str(refused.value)


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-01-01 12:00:00", "2026-01-01 12:01:00"),
        ("* * * * *", "2026-01-01 12:00:59.5", "2026-01-01 12:01:00"),
        ("*/20 * * * *", "2026-12-31 23:45:00", "2027-01-01 00:00:00"),
        ("30 6-16/4 * * 1-5", "2026-01-02 14:30:00", "2026-01-05 06:30:00"),
        ("0 0 13 * 5", "2026-01-01 00:00:00", "2026-01-02 00:00:00"),
        ("0 0 */2 * 5", "2026-01-01 00:00:00", "2026-01-02 00:00:00"),
        ("0 0 * * 5", "2026-01-02 00:00:00", "2026-01-09 00:00:00"),
        ("0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"),
        ("@weekly", "2026-01-01 00:00:00", "2026-01-04 00:00:00"),
        ("@every 90m", "2026-01-01 00:00:10.9", "2026-01-01 01:30:10"),
        ("@every 1ms", "2026-01-01 00:00:10", "2026-01-01 00:00:11"),
    ],
)
def test_the_next_time_is_the_first_one_later(schedule: str, after: str, due: str) -> None:
    """To the minute; a step makes a star a restriction, and of two restricted day fields one is enough."""
    actual = parse_schedule(schedule).next(datetime.fromisoformat(after).replace(tzinfo=UTC))

    assert datetime.fromisoformat(due).replace(tzinfo=UTC) == actual


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_days_that_never_come_are_never_due(schedule: str) -> None:
    """The search ends after some years."""
    assert parse_schedule(schedule).next(datetime(2026, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "count", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28 03:00", 1, ["2026-03-30T02:30:00+02:00"]),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24 03:00",
            3,
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"],
        ),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", 1, ["2018-11-05T00:00:00-02:00"]),
        ("0 9 * * *", "Asia/Kolkata", "2026-01-01 09:00", 1, ["2026-01-02T09:00:00+05:30"]),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04 12:00",
            2,
            ["2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30"],
        ),
    ],
)
def test_a_time_zone_has_its_own_clock(schedule: str, zone: str, after: str, count: int, expected: list[str]) -> None:
    """A time that is skipped when the clocks change is not due that day; one that is repeated is due twice."""
    moment: datetime | None = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    actual = []

    for _ in range(count):
        assert moment is not None
        moment = parse_schedule(schedule).next(moment)
        actual.append(moment.isoformat() if moment else None)

    assert expected == actual


def test_no_due_time_is_stepped_over() -> None:
    """Through a year of changing clocks every minute that matches is found, and no other."""
    zone, schedule = ZoneInfo("America/New_York"), parse_schedule("15,45 1,2,3 * * 0")
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)

    found, moment = [], schedule.next(start.astimezone(zone))
    while moment is not None and moment < end:
        found.append(moment.astimezone(UTC))
        moment = schedule.next(moment)

    minutes = (start + timedelta(minutes=15 * i) for i in range(4 * 24 * 365))
    local = ((minute, minute.astimezone(zone)) for minute in minutes)
    expected = [m for m, t in local if t.minute in (15, 45) and t.hour in (1, 2, 3) and t.isoweekday() == 7]
    assert expected == found
