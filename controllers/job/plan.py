"""The decision: what one reconcile of a Job does to its pods, and what that makes of the Job. Pure.

`plan` comes before the requests, `conclude` after them, with what came of them. Carried out twice it acts once: the
second plan is made from the outcome of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controllers import pods
from controllers.job import conditions, ending, scaling
from controllers.job.backoff import Failures
from controllers.job.model import JobView
from controllers.job.scaling import Scaling
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time


@dataclass(frozen=True, slots=True)
class Plan:
    """`verdict`: the Job is to end, and its active pods are deleted; else `scaling`, None where it must not act yet."""

    verdict: Object | None = None
    scaling: Scaling | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many pods were created and deleted, how many of the deleted ones were ready, and the first error."""

    created: int = 0
    deleted: int = 0
    deleted_ready: int = 0
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The status before pods are counted; `event` is (reason, message)."""

    status: Object
    verdict: Object | None
    terminating: int
    event: tuple[str, str] | None = None


def plan(job: JobView, failures: Failures, has_seen_its_writes: bool) -> Plan:
    verdict = ending.verdict(job)
    if verdict is not None:
        return Plan(verdict)
    if not has_seen_its_writes or job.is_being_deleted:
        return Plan()
    return Plan(scaling=scaling.plan(job, failures))


def conclude(job: JobView, decided: Plan, outcome: Outcome, has_seen_its_writes: bool) -> Conclusion:
    """The counts, and whether the Job ends now that this has been done."""
    active = _active(job, decided, outcome)
    terminating = len(job.terminating) + outcome.deleted
    counted = _with_counts(job, active, terminating, outcome)
    if decided.verdict is not None:
        may_end = outcome.deleted == len(job.active) and has_seen_its_writes
        return Conclusion(counted, decided.verdict if may_end else None, terminating)
    completion = ending.completion(job, active)
    if completion is not None or decided.scaling is None:
        return Conclusion(counted, completion, terminating)
    return _with_suspension(job, Conclusion(counted, None, terminating))


def _active(job: JobView, decided: Plan, outcome: Outcome) -> int:
    if decided.scaling is not None and decided.scaling.wait_seconds is not None:
        return 0
    return len(job.active) + outcome.created - outcome.deleted


def _with_counts(job: JobView, active: int, terminating: int, outcome: Outcome) -> Object:
    status = {
        **job.status,
        "active": active,
        "terminating": terminating,
        "ready": sum(pods.is_ready(pod) for pod in job.active) - outcome.deleted_ready,
    }
    if not job.is_suspended:
        status.setdefault("startTime", format_time(job.now))
    return status


def _with_suspension(job: JobView, concluded: Conclusion) -> Conclusion:
    """The Suspended condition, where it changes. Time stands still for a suspended Job and starts anew afterwards."""
    before = [dict(condition) for condition in conditions_of(job.obj)]
    status, reason, message, told = (
        ("True", "JobSuspended", "Job suspended", "Suspended")
        if job.is_suspended
        else ("False", "JobResumed", "Job resumed", "Resumed")
    )
    after = conditions.ensured(before, conditions.new(conditions.SUSPENDED, reason, message, job.now, status))
    if after == before:
        return concluded
    changed = {**concluded.status, "conditions": after}
    changed.pop("startTime", None)
    if not job.is_suspended:
        changed["startTime"] = format_time(job.now)
    return replace(concluded, status=changed, event=(told, message))
