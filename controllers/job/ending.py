"""Whether a Job is to end, and why: the condition that says so. Pure.

The order matters where several things are true at once: what was decided before, then failure, then success
(syncJob of pkg/controller/job, v1.36).
"""

from __future__ import annotations

from controllers import pods
from controllers.job import conditions, intervals
from controllers.job.intervals import Intervals
from controllers.job.model import JobView
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import seconds_since


def verdict(job: JobView) -> Object | None:
    """SuccessCriteriaMet or FailureTarget; Failed where FailureTarget stands already; None: it goes on."""
    return _decided_before(job) or _policy_failure(job) or _limit_failure(job) or _index_failure(job) or _success(job)


def completion(job: JobView, active: int) -> Object | None:
    """SuccessCriteriaMet once enough pods have succeeded and, `active` being 0, no other runs."""
    enough = 1 if job.completions is None else job.completions
    if active or job.succeeded < enough:
        return None
    message = "Reached expected number of succeeded pods"
    return conditions.new(conditions.SUCCESS_CRITERIA_MET, "CompletionsReached", message, job.now)


def as_final(condition: Object, job: JobView) -> Object:
    """Complete for SuccessCriteriaMet, Failed for FailureTarget, with the same reason and message."""
    is_success = condition["type"] == conditions.SUCCESS_CRITERIA_MET
    type_ = conditions.COMPLETE if is_success else conditions.FAILED
    return conditions.new(type_, condition.get("reason") or "", condition.get("message") or "", job.now)


def seconds_to_deadline(job: JobView) -> float | None:
    """None where there is no deadline, or time stands still for the Job."""
    limit, start = job.spec.get("activeDeadlineSeconds"), job.status.get("startTime")
    if limit is None or job.is_suspended:
        return None
    return float(limit) - (seconds_since(start, job.now) if start else 0.0)


def _decided_before(job: JobView) -> Object | None:
    met = conditions.true_condition(job.obj, conditions.SUCCESS_CRITERIA_MET)
    if met is not None:
        return dict(met)
    target = conditions.true_condition(job.obj, conditions.FAILURE_TARGET)
    return as_final(dict(target), job) if target is not None else None


def _policy_failure(job: JobView) -> Object | None:
    failed = (pod for pod in job.pods if job.has_failed(pod)) if job.spec.get("podFailurePolicy") else ()
    message = next((judgement.message for pod in failed if (judgement := job.judge(pod)).message), "")
    return _failure(job, "PodFailurePolicy", message) if message else None


def _limit_failure(job: JobView) -> Object | None:
    if job.failed > job.backoff_limit or _restarts_too_often(job):
        return _failure(job, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = seconds_to_deadline(job)
    if left is not None and left <= 0:
        return _failure(job, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _restarts_too_often(job: JobView) -> bool:
    """With restartPolicy OnFailure, the restarts of containers are what is limited."""
    if job.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(_restarts(pod) for pod in job.pods if pods.phase_of(pod) in ("Pending", "Running"))
    return restarts >= max(job.backoff_limit, 1)


def _restarts(pod: ReadOnlyObject) -> int:
    status = pod.get("status") or {}
    entries = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return sum(entry.get("restartCount") or 0 for entry in entries)


def _index_failure(job: JobView) -> Object | None:
    failed = intervals.total(job.failed_indexes or ())
    limit = job.spec.get("maxFailedIndexes")
    if limit is not None and failed > limit:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return _failure(job, "MaxFailedIndexesExceeded", message)
    if failed and failed + job.succeeded >= (job.completions or 0):
        return _failure(job, "FailedIndexes", "Job has failed indexes")
    return None


def _success(job: JobView) -> Object | None:
    """The first rule of the success policy that the succeeded indexes meet."""
    if not job.is_indexed or not job.succeeded_indexes:
        return None
    for index, rule in enumerate((job.spec.get("successPolicy") or {}).get("rules") or ()):
        if _meets(rule, job.succeeded_indexes, job.completions or 0):
            message = f"Matched rules at index {index}"
            return conditions.new(conditions.SUCCESS_CRITERIA_MET, "SuccessPolicy", message, job.now)
    return None


def _meets(rule: ReadOnlyObject, succeeded: Intervals, completions: int) -> bool:
    count = rule.get("succeededCount")
    if rule.get("succeededIndexes") is None:
        return count is not None and intervals.total(succeeded) >= count
    required = intervals.parse(rule["succeededIndexes"], completions)
    overlap = intervals.common(required, succeeded)
    return bool(required) and (overlap == intervals.total(required) or (count is not None and overlap >= count))


def _failure(job: JobView, reason: str, message: str) -> Object:
    return conditions.new(conditions.FAILURE_TARGET, reason, message, job.now)
