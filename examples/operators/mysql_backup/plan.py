"""Where a backup stands, and the status that says so: plain functions of what was read, without I/O or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from examples.operators.mysql_backup.api import (
    COMPLETE_CONDITION,
    FAILED,
    FAILED_CONDITION,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TOOL_IMAGES,
)
from examples.operators.mysql_backup.children import job_name
from examples.operators.mysql_backup.model import Backup
from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, metadata
from kubeloop.apimachinery.times import format_time, seconds_since

# A Job whose pod does not run by then is worth a warning: most often its Secret is missing.
START_WITHIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is to say. `started_at` and `completed_at` are "" where that has not happened."""

    phase: str
    reason: str
    message: str
    is_warning: bool = False
    started_at: str = ""
    completed_at: str = ""


def refusal(backup: Backup) -> Standing | None:
    """Why this backup can never be made, as long as its spec stays as it is; None where it can."""
    if backup.mysql_version in TOOL_IMAGES:
        return None
    known = ", ".join(TOOL_IMAGES)
    message = f"spec.mysqlVersion is {backup.mysql_version}, and this operator has dump tools for {known}"
    return Standing(FAILED, "UnsupportedVersion", message, is_warning=True)


def name_taken(backup: Backup) -> Standing:
    message = f"Job {job_name(backup)} is there and belongs to somebody else; waiting until it is gone"
    return Standing(PENDING, "JobNameTaken", message, is_warning=True)


def standing(backup: Backup, job: ReadOnlyObject, now: datetime) -> Standing:
    """Read from the Job alone: what was seen of it before does not count."""
    conditions, status = conditions_of(job), job.get("status") or {}
    started_at = status.get("startTime") or ""
    if is_true(conditions, "Complete"):
        completed_at = status.get("completionTime") or format_time(now)
        return Standing(SUCCEEDED, "DumpStored", f"stored at {backup.location}", False, started_at, completed_at)
    failed = get_condition(conditions, "Failed")
    if failed is not None and failed.get("status") == "True":
        completed_at = failed.get("lastTransitionTime") or format_time(now)
        message = f"Job {job_name(backup)} failed: {failed.get('message') or 'without a message'}"
        return Standing(FAILED, failed.get("reason") or "JobFailed", message, True, started_at, completed_at)
    if status.get("ready") or _has_succeeded(status):
        return Standing(RUNNING, "Dumping", f"Job {job_name(backup)} is dumping {backup.database}", False, started_at)
    if status.get("failed"):
        tries = f"{status['failed']} of {backup.retries + 1} tries have failed"
        return Standing(PENDING, "Retrying", f"Job {job_name(backup)} is tried again: {tries}", True, started_at)
    if seconds_since(metadata(job)["creationTimestamp"], now) >= START_WITHIN_SECONDS:
        message = f"the pod of Job {job_name(backup)} does not start; is Secret {backup.credentials_secret} there?"
        return Standing(PENDING, "NotStarting", message, True, started_at)
    return Standing(PENDING, "Starting", f"Job {job_name(backup)} is starting", False, started_at)


def _has_succeeded(job_status: Mapping[str, Any]) -> bool:
    """The pod has ended well, and the Job will say so in a moment."""
    return bool(job_status.get("succeeded") or (job_status.get("uncountedTerminatedPods") or {}).get("succeeded"))


def status_of(found: Standing, backup: Backup) -> tuple[Object, Sequence[Condition]]:
    """The fields of the status that say it, and its conditions; None takes a field away."""
    fields = {
        "phase": found.phase,
        "startedAt": found.started_at or None,
        "completedAt": found.completed_at or None,
        "location": backup.location if found.phase == SUCCEEDED else None,
    }
    conditions = [
        {
            "type": type_,
            "status": "True" if found.phase == phase else "False",
            "reason": found.reason,
            "message": found.message,
        }
        for type_, phase in ((COMPLETE_CONDITION, SUCCEEDED), (FAILED_CONDITION, FAILED))
    ]
    return fields, conditions


def reason_of(obj: ReadOnlyObject) -> str:
    """What was last said of it."""
    condition = get_condition(conditions_of(obj), COMPLETE_CONDITION)
    return (condition or {}).get("reason") or ""
