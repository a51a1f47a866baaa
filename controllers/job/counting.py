"""Counting pods that ended, each exactly once. Pure.

A pod of a Job carries a finalizer until it is counted. First its uid goes into status.uncountedTerminatedPods, then
the finalizer is taken off, then the uid becomes one more in `succeeded` or `failed`: whatever breaks in between, the
next reconcile knows where to go on. Indexed Jobs note succeeded indexes instead of uids.

trackJobStatusAndRemoveFinalizers of pkg/controller/job, v1.36.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from controllers.job import conditions, ending, intervals
from controllers.job.indexes import index_of
from controllers.job.model import JobView, has_succeeded
from controllers.job.plan import Conclusion
from kubeloop.apimachinery.conditions import get_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, uid_of

# The most pods noted at once, which keeps the status below some 20 KB; the others come with the next reconcile.
MAX_UNCOUNTED = 500


@dataclass(frozen=True, slots=True)
class Count:
    """`status` is to be written before the finalizers of `release` are taken off; `final` ends the Job after that."""

    status: Object
    release: tuple[Object, ...]
    final: Object | None


def count(job: JobView, concluded: Conclusion) -> Count:
    tracked = {uid_of(pod) for pod in job.pods if job.is_uncounted(pod)}
    status = without_released(concluded.status, tracked)
    status, release, is_full = _with_ended(job, status, concluded.verdict)
    if job.is_indexed:
        status = _with_indexes(job, status)
    status, final = _with_verdict(job, status, concluded.verdict)
    return Count(status, tuple(release), None if is_full else final)


def without_released(status: ReadOnlyObject, tracked: AbstractSet[str]) -> Object:
    """The uids whose pods have lost their finalizer become counts."""
    noted = status.get("uncountedTerminatedPods") or {}
    changed: Object = {**status}
    kept: dict[str, list[str]] = {}
    for outcome in ("succeeded", "failed"):
        uids = noted.get(outcome) or []
        left = [uid for uid in uids if uid in tracked]
        changed[outcome] = (status.get(outcome) or 0) + len(uids) - len(left)
        if left:
            kept[outcome] = left
    return {**changed, "uncountedTerminatedPods": kept}


def may_end(status: ReadOnlyObject, terminating: int) -> bool:
    """Whether every pod is counted and gone."""
    return not status.get("uncountedTerminatedPods") and terminating == 0


def ended(status: ReadOnlyObject, final: Object) -> Object:
    """The status of a Job that has ended as `final` says."""
    changed: Object = {**status, "conditions": conditions.ensured(status.get("conditions") or (), final)}
    if final["type"] == conditions.COMPLETE:
        changed["completionTime"] = final["lastTransitionTime"]
    return changed


def _with_ended(job: JobView, status: Object, verdict: Object | None) -> tuple[Object, list[Object], bool]:
    """Note the pods that have ended; those whose finalizer may go; whether there are more than may be noted."""
    noted = {outcome: list(uids) for outcome, uids in status["uncountedTerminatedPods"].items()}
    release: list[Object] = []
    in_order = sorted(job.pods, key=index_of) if job.is_indexed else job.pods
    new_indexes = 0
    for pod in in_order:
        if not job.is_uncounted(pod) or not _may_release(job, pod, verdict):
            continue
        release.append(pod)
        outcome = _outcome(job, pod, verdict)
        if outcome == "succeeded" and job.is_indexed:
            new_indexes += not intervals.contains(job.completed_before, index_of(pod))
        elif outcome and uid_of(pod) not in job.uncounted[outcome]:
            noted.setdefault(outcome, []).append(uid_of(pod))
        if new_indexes + sum(map(len, noted.values())) >= MAX_UNCOUNTED:
            return {**status, "uncountedTerminatedPods": noted}, release, True
    return {**status, "uncountedTerminatedPods": noted}, release, False


def _may_release(job: JobView, pod: Object, verdict: Object | None) -> bool:
    if job.is_being_deleted or verdict is not None or has_succeeded(pod):
        return True
    kept = job.kept_failures.get(index_of(pod))
    return job.has_failed(pod) and (kept is None or uid_of(kept) != uid_of(pod))


def _outcome(job: JobView, pod: Object, verdict: Object | None) -> str:
    """What the pod counts as; "" for nothing. In a Job that has failed, every pod that has not succeeded has too."""
    if not job.has_valid_index(pod):
        return ""
    if has_succeeded(pod) and uid_of(pod) not in job.uncounted["failed"]:
        return "succeeded"
    is_failure = verdict is not None and verdict["type"] != conditions.SUCCESS_CRITERIA_MET
    if (is_failure or job.has_failed(pod)) and job.judge(pod).is_counted:
        return "failed"
    return ""


def _with_indexes(job: JobView, status: Object) -> Object:
    changed: Object = {
        **status,
        "succeeded": intervals.total(job.succeeded_indexes),
        "completedIndexes": intervals.to_text(job.succeeded_indexes),
    }
    changed.pop("failedIndexes", None)
    if job.failed_indexes is not None:
        changed["failedIndexes"] = intervals.to_text(job.failed_indexes)
    return changed


def _with_verdict(job: JobView, status: Object, verdict: Object | None) -> tuple[Object, Object | None]:
    """The condition that announces the end, and the one that will say that it has come."""
    if verdict is None or verdict["type"] == conditions.FAILED:
        return status, verdict
    before = status.get("conditions") or []
    if get_condition(before, verdict["type"]) is None:
        status = {**status, "conditions": [*before, verdict]}
    return status, ending.as_final(verdict, job)


def without_zeros(status: ReadOnlyObject) -> Object:
    """As the server keeps it: these fields are left out where they are zero, and `ready`, say, is not."""
    optional = ("active", "succeeded", "failed", "completedIndexes", "conditions")
    return {field: value for field, value in status.items() if value or field not in optional}
