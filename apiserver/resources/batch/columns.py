"""What `kubectl get jobs` and `kubectl get cronjobs` show."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, UNSET, ago, container_columns, count, field, selector
from apiserver.printing.durations import human_duration
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.times import parse_time


def _status(job: ReadOnlyObject, now: datetime) -> str:
    """One word; a finished job stays finished while it is being deleted."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    # The first condition of a type decides, as in the real printer.
    statuses = {condition["type"]: condition.get("status") for condition in reversed(conditions)}
    if statuses.get("Complete") == "True":
        return "Complete"
    if statuses.get("Failed") == "True":
        return "Failed"
    if (job.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    return next(
        (word for word in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if statuses.get(word) == "True"),
        "Running",
    )


def _completions(job: ReadOnlyObject, now: datetime) -> str:
    spec = job.get("spec") or {}
    succeeded = (job.get("status") or {}).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: ReadOnlyObject, now: datetime) -> str:
    status = job.get("status") or {}
    if not status.get("startTime"):
        return ""
    end = parse_time(status["completionTime"]) if status.get("completionTime") else now
    return human_duration((end - parse_time(status["startTime"])).total_seconds())


def _suspend(cron_job: ReadOnlyObject, now: datetime) -> str:
    suspend = (cron_job.get("spec") or {}).get("suspend")
    return UNSET if suspend is None else str(suspend)


JOB_COLUMNS = (
    NAME,
    Column("Status", "string", _status),
    Column("Completions", "string", _completions),
    Column("Duration", "string", _duration),
    AGE,
    *container_columns("spec", "template", "spec", "containers"),
    Column("Selector", "string", selector("spec", "selector"), priority=1),
)

CRON_JOB_COLUMNS = (
    NAME,
    Column("Schedule", "string", field("spec", "schedule")),
    Column("Timezone", "string", field("spec", "timeZone", default=NONE)),
    Column("Suspend", "boolean", _suspend),
    Column("Active", "integer", count("status", "active")),
    Column("Last Schedule", "string", ago("status", "lastScheduleTime", default=NONE)),
    AGE,
    *container_columns("spec", "jobTemplate", "spec", "template", "spec", "containers"),
    Column("Selector", "string", selector("spec", "jobTemplate", "spec", "selector"), priority=1),
)
