"""The decision: whether a CronJob starts a Job now, and which. Pure.

syncCronJob of pkg/controller/cronjob, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from controllers.cron_job.active import active_of
from controllers.cron_job.timing import MANY, ImpossibleSchedule, Timing, UnknownZone, timing_of, zone_of
from kubeloop.apimachinery.cron import ScheduleError
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    controller_reference,
    is_being_deleted,
    name_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import CRON_JOBS, JOBS
from kubeloop.apimachinery.times import format_time, moment_after, parse_time

SCHEDULED_TIMESTAMP = "batch.kubernetes.io/cronjob-scheduled-timestamp"


@dataclass(frozen=True, slots=True)
class Told:
    """An event."""

    event_type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`start`: the time to start a Job for, after deleting those of `replace`. No `timing`: nothing more is due."""

    timing: Timing | None = None
    start: datetime | None = None
    replace: tuple[ReadOnlyObject, ...] = ()
    events: tuple[Told, ...] = ()


def plan(cron_job: ReadOnlyObject, status: ReadOnlyObject, now: datetime) -> Plan:
    """`status` is the CronJob's own, brought up to date with its Jobs."""
    if is_being_deleted(cron_job):
        return Plan()
    spec = cron_job["spec"]
    try:
        zone_of(cron_job)
        if spec.get("suspend"):
            return Plan()
        timing = timing_of(cron_job)
        return _planned(cron_job, status, timing, now)
    except UnknownZone as error:
        message = f"invalid timeZone: {go_quote(spec['timeZone'])}: {error}"
        return Plan(events=(Told("Warning", "UnknownTimeZone", message),))
    except ScheduleError as error:
        message = f"unparseable schedule: {go_quote(spec['schedule'])} : {error}"
        return Plan(events=(Told("Warning", "UnparseableSchedule", message),))
    except ImpossibleSchedule as error:
        message = f"invalid schedule: {spec['schedule']} : {error}"
        return Plan(events=(Told("Warning", "InvalidSchedule", message),))


def job_for(cron_job: ReadOnlyObject, scheduled: datetime) -> Object:
    """The Job of that time. Its name follows from the time, so that it cannot be made twice."""
    template = cron_job["spec"]["jobTemplate"]
    described = template.get("metadata") or {}
    local = scheduled.astimezone(zone_of(cron_job)).isoformat(timespec="seconds")
    annotations = {**(described.get("annotations") or {}), SCHEDULED_TIMESTAMP: local.replace("+00:00", "Z")}
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": job_name(cron_job, scheduled),
            "namespace": namespace_of(cron_job),
            "labels": dict(described.get("labels") or {}),
            "annotations": annotations,
            "ownerReferences": [controller_reference(cron_job, CRON_JOBS.api_version, CRON_JOBS.kind)],
        },
        "spec": template.get("spec") or {},
    }


def job_name(cron_job: ReadOnlyObject, scheduled: datetime) -> str:
    return f"{name_of(cron_job)}-{int(scheduled.timestamp()) // 60}"


def with_started(status: ReadOnlyObject, reference: Object, scheduled: datetime) -> Object:
    return {**status, "active": [*active_of(status), reference], "lastScheduleTime": format_time(scheduled)}


def _planned(cron_job: ReadOnlyObject, status: ReadOnlyObject, timing: Timing, now: datetime) -> Plan:
    due = timing.due(now)
    events: list[Told] = []
    if "TZ" in cron_job["spec"]["schedule"]:
        events.append(_unsupported(cron_job["spec"]["schedule"]))
    if due.latest is None:
        return Plan(timing, events=tuple(events))
    if due.missed > MANY:
        hint = "Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        events.append(Told("Warning", "TooManyMissedTimes", f"too many missed start times. {hint}"))
    if _is_too_late(timing, due.latest, now):
        time = format_datetime(due.latest.astimezone(UTC))
        events.append(Told("Warning", "MissSchedule", f"Missed scheduled time to start a job: {time}"))
        return Plan(timing, events=tuple(events))
    if _is_done(cron_job, status, due.latest):
        return Plan(timing, events=tuple(events))
    active, policy = tuple(active_of(status)), cron_job["spec"].get("concurrencyPolicy")
    if policy == "Forbid" and active:
        reason = "Not starting job because prior execution is running and concurrency policy is Forbid"
        events.append(Told("Normal", "JobAlreadyActive", reason))
        return Plan(timing, events=tuple(events))
    return Plan(timing, due.latest, active if policy == "Replace" else (), tuple(events))


def _unsupported(schedule: str) -> Told:
    page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
    used = f"CRON_TZ or TZ used in schedule {go_quote(schedule)} is not officially supported"
    return Told("Warning", "UnsupportedSchedule", f"{used}, see {page} for more details")


def _is_too_late(timing: Timing, scheduled: datetime, now: datetime) -> bool:
    limit = timing.deadline_seconds
    return limit is not None and moment_after(scheduled, limit) < now


def _is_done(cron_job: ReadOnlyObject, status: ReadOnlyObject, scheduled: datetime) -> bool:
    """Whether the Job of that time has been started already."""
    last = status.get("lastScheduleTime")
    names: Sequence[str] = [reference.get("name", "") for reference in active_of(status)]
    return job_name(cron_job, scheduled) in names or (last is not None and parse_time(last) == scheduled)
