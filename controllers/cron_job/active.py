"""The Jobs that a CronJob knows of: status.active, and what has become of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, uid_of
from kubeloop.apimachinery.times import parse_time


def active_of(status: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return status.get("active") or ()


def has_active(status: ReadOnlyObject, uid: str) -> bool:
    return any(reference.get("uid") == uid for reference in active_of(status))


def without_active(status: ReadOnlyObject, uids: Iterable[str]) -> Object:
    gone = set(uids)
    return {**status, "active": [ref for ref in active_of(status) if ref.get("uid") not in gone]}


def end_of(job: ReadOnlyObject) -> str:
    """Complete or Failed; "" while it goes on."""
    ends = (c["type"] for c in conditions_of(job) if c.get("status") == "True" and c["type"] in ("Complete", "Failed"))
    return next(ends, "")


def strangers(status: ReadOnlyObject, jobs: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Unfinished Jobs that are not in the list."""
    return [job for job in jobs if not end_of(job) and not has_active(status, uid_of(job))]


def seen_ending(status: ReadOnlyObject, jobs: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Jobs in the list that have ended."""
    return [job for job in jobs if end_of(job) and has_active(status, uid_of(job))]


def with_last_success(status: ReadOnlyObject, jobs: Sequence[ReadOnlyObject]) -> Object:
    """lastSuccessfulTime, in the list or not; it never goes back."""
    ends = [job["status"]["completionTime"] for job in jobs if end_of(job) == "Complete" and _has_completed(job)]
    if stored := status.get("lastSuccessfulTime"):
        ends.append(stored)
    return {**status, "lastSuccessfulTime": max(ends, key=parse_time)} if ends else {**status}


def superfluous(cron_job: ReadOnlyObject, jobs: Sequence[Object]) -> list[Object]:
    """Finished Jobs beyond the history limits, the oldest first."""
    limits = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
    found: list[Object] = []
    for end, field in limits.items():
        limit = cron_job["spec"].get(field)
        if limit is not None:
            ended = sorted((job for job in jobs if end_of(job) == end), key=_by_start)
            found += ended[: max(0, len(ended) - limit)]
    return found


def _has_completed(job: ReadOnlyObject) -> bool:
    return bool((job.get("status") or {}).get("completionTime"))


def _by_start(job: ReadOnlyObject) -> tuple[bool, str, str]:
    """Times are whole seconds in UTC, so their text sorts as they do; Jobs that never started come last."""
    start = (job.get("status") or {}).get("startTime") or ""
    return not start, start, name_of(job)
