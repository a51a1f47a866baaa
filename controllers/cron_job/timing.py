"""When a CronJob was due last and is due next. Pure.

Only the latest of several missed times is made up for (pkg/controller/cronjob/utils.go, v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kubeloop.apimachinery.cron import Schedule, parse_schedule
from kubeloop.apimachinery.meta import ReadOnlyObject, metadata
from kubeloop.apimachinery.times import moment_after, parse_time

# So many missed times that something is wrong.
MANY = 100
# Looked at this much too late rather than a moment too early.
DELAY_SECONDS = 0.1


class UnknownZone(ValueError):
    """There is no time zone of that name."""


class ImpossibleSchedule(ValueError):
    """An expression that is right, for days that never come."""


@dataclass(frozen=True, slots=True)
class Due:
    """`latest`: the time that has come, None where none has since `earliest`. `missed`: about how many have."""

    earliest: datetime
    latest: datetime | None = None
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Timing:
    """A CronJob's schedule and what its times are reckoned from."""

    schedule: Schedule
    zone: tzinfo
    since: datetime
    deadline_seconds: int | None = None

    def due(self, now: datetime) -> Due:
        """What startingDeadlineSeconds leaves of the times up to now."""
        earliest = self.since
        if self.deadline_seconds is not None:
            earliest = max(earliest, moment_after(now, -self.deadline_seconds))
        return self._due_since(earliest, now)

    def seconds_to_next(self, now: datetime) -> float | None:
        """How long until the next time that has not come yet; None where there is none."""
        try:
            due = self._due_since(self.since, now)
            base = due.latest or (now if due.missed else due.earliest)
        except ImpossibleSchedule:
            base = now
        following = self._next(base)
        return None if following is None else (following - now).total_seconds() + DELAY_SECONDS

    def _next(self, after: datetime) -> datetime | None:
        due = self.schedule.next(after.astimezone(self.zone))
        return None if due is None else due.astimezone(UTC)

    def _due_since(self, earliest: datetime, now: datetime) -> Due:
        first = self._next(earliest)
        second = self._next(first) if first else None
        if first is not None and now < first:
            return Due(earliest)
        if first is None or second is None:
            raise ImpossibleSchedule("time difference between two schedules is less than 1 second")
        if now < second:
            return Due(earliest, first)
        interval = round((second - first).total_seconds())
        missed = int((now - first).total_seconds()) // interval + 1
        # Begin one interval too early, for times that do not come regularly.
        candidate = self._next(first + timedelta(seconds=(missed - 2) * interval))
        latest = None
        while candidate is not None and candidate <= now:
            latest, candidate = candidate, self._next(candidate)
        return Due(earliest, latest, missed)


def timing_of(cron_job: ReadOnlyObject) -> Timing:
    """Raises UnknownZone or ScheduleError."""
    spec, status = cron_job["spec"], cron_job.get("status") or {}
    schedule = parse_schedule(spec["schedule"])
    since = parse_time(status.get("lastScheduleTime") or metadata(cron_job)["creationTimestamp"])
    zone = zone_named(schedule.zone) if schedule.zone else zone_of(cron_job)
    return Timing(schedule, zone, since, spec.get("startingDeadlineSeconds"))


def zone_of(cron_job: ReadOnlyObject) -> tzinfo:
    """spec.timeZone, or UTC."""
    return zone_named(cron_job["spec"].get("timeZone") or "UTC")


def zone_named(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(f"unknown time zone {name}") from error
