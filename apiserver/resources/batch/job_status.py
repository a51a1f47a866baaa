"""What a Job's status may say and how it may go on: finished jobs stay finished, counters do not fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.apps.workload import check_counts
from apiserver.resources.batch.index_intervals import IntervalError, first_overlap, parse_intervals
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from kubeloop.apimachinery import field
from kubeloop.apimachinery.times import parse_time

Json = Mapping[str, Any]

COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
TERMINAL = ("Failed", "Complete", "FailureTarget")
CONDITIONS = "status.conditions"


def is_condition_true(status: Json, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or NO_ITEMS)


def check_job_status_update(new: Json, old: Json, errors: Errors) -> None:
    spec, status, before = new["spec"], new.get("status") or NO_FIELDS, old.get("status") or NO_FIELDS
    check_counts(status, COUNTS, errors)
    _check_uncounted(status, errors)
    _check_conditions_agree(status, before, errors)
    _check_times(status, before, spec, errors)
    _check_finished(status, before, spec, errors)
    _check_indexes(status, before, spec, errors)
    _check_pods(status, before, errors)
    _check_met_criteria(status, spec, errors)
    _check_progress(status, before, spec, errors)


def _is_finished(status: Json) -> bool:
    return is_condition_true(status, "Complete") or is_condition_true(status, "Failed")


def _refuse_conditions(reason: str, errors: Errors) -> None:
    errors.append(field.FieldError(field.INVALID, CONDITIONS, f"Invalid value: {reason}"))


def _check_uncounted(status: Json, errors: Errors) -> None:
    uncounted = status.get("uncountedTerminatedPods") or NO_FIELDS
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for i, uid in enumerate(uncounted.get(name) or NO_ITEMS):
            path = f"status.uncountedTerminatedPods.{name}[{i}]"
            if not uid:
                errors.append(field.invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(field.duplicate(path, uid))
            seen.add(uid)


def _changed(status: Json, before: Json, *kinds: str) -> bool:
    return any(is_condition_true(status, kind) != is_condition_true(before, kind) for kind in kinds)


def _check_conditions_agree(status: Json, before: Json, errors: Errors) -> None:
    if not is_condition_true(status, "Complete"):
        return
    for other, spelling in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
        if _changed(status, before, "Complete", other) and is_condition_true(status, other):
            _refuse_conditions(f"cannot set Complete=True and {spelling} conditions", errors)


def _check_times(status: Json, before: Json, spec: Json, errors: Errors) -> None:
    start, end, path = status.get("startTime"), status.get("completionTime"), "status.completionTime"
    complete = is_condition_true(status, "Complete")
    if _changed(status, before, "Complete") or end != before.get("completionTime"):
        if end is not None and not complete:
            reason = "cannot set completionTime when there is no Complete=True condition"
            errors.append(field.invalid(path, end, reason))
        if end is None and complete:
            errors.append(field.required(path, "completionTime is required for Complete jobs"))
    times_changed = start != before.get("startTime") or end != before.get("completionTime")
    if times_changed and start and end and parse_time(end) < parse_time(start):
        errors.append(field.invalid(path, end, "must be equal to or after `startTime`"))
    looks_at_failure = _changed(status, before, "Failed") or status.get("failedIndexes") != before.get("failedIndexes")
    failed = is_condition_true(status, "Failed")
    if looks_at_failure and failed and not is_condition_true(status, "FailureTarget"):
        _refuse_conditions("cannot set Failed=True condition without the FailureTarget=true condition", errors)
    if (
        _changed(status, before, "Complete", "SuccessCriteriaMet")
        and complete
        and not is_condition_true(status, "SuccessCriteriaMet")
    ):
        reason = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        _refuse_conditions(reason, errors)


def _check_finished(status: Json, before: Json, spec: Json, errors: Errors) -> None:
    if not _is_finished(status):
        return
    just_finished = not _is_finished(before)
    active, uncounted = status.get("active", 0), status.get("uncountedTerminatedPods") or NO_FIELDS
    if (just_finished or active != before.get("active", 0)) and active > 0:
        errors.append(field.invalid("status.active", active, "active>0 is invalid for finished job"))
    never_ran = spec.get("suspend") and spec.get("completions") == 0
    start = status.get("startTime")
    if (just_finished or start != before.get("startTime")) and not never_ran and start is None:
        errors.append(field.required("status.startTime", "startTime is required for finished job"))
    changed = uncounted != (before.get("uncountedTerminatedPods") or NO_FIELDS)
    if (just_finished or changed) and any(uncounted.get(name) for name in ("succeeded", "failed")):
        value = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        errors.append(field.invalid("status.uncountedTerminatedPods", value, "must be empty for finished job"))


def _check_indexes(status: Json, before: Json, spec: Json, errors: Errors) -> None:
    completed, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    completed_changed = completed != before.get("completedIndexes", "")
    failed_changed = failed != before.get("failedIndexes")
    completions = spec.get("completions")
    if completions is not None:
        if completed_changed:
            _check_parses("completedIndexes", completed, completions, errors)
        if failed_changed and failed is not None and "backoffLimitPerIndex" in spec:
            _check_parses("failedIndexes", failed, completions, errors)
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        reason = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(field.invalid("status.completedIndexes", completed, reason))
    if failed_changed and failed is not None and "backoffLimitPerIndex" not in spec:
        reason = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(field.invalid("status.failedIndexes", failed, reason))
    if (completed_changed or failed_changed) and completions is not None and failed is not None:
        _check_disjoint(completed, failed, completions, errors)


def _check_parses(name: str, text: str, completions: int, errors: Errors) -> None:
    try:
        parse_intervals(text, completions)
    except IntervalError as error:
        errors.append(field.invalid(f"status.{name}", text, f"error parsing {name}: {error}"))


def _check_disjoint(completed: str, failed: str, completions: int, errors: Errors) -> None:
    overlap = first_overlap(completed, failed, completions)
    if overlap is not None:
        reason = f"failedIndexes and completedIndexes overlap at index: {overlap}"
        errors.append(field.invalid("status.failedIndexes", failed, reason))


def _check_pods(status: Json, before: Json, errors: Errors) -> None:
    """A finished job waits for no pods to end, and none is ready that is not active."""
    terminating, ready, active = status.get("terminating"), status.get("ready"), status.get("active", 0)
    changed = _is_finished(status) != _is_finished(before) or terminating != before.get("terminating")
    if changed and _is_finished(status) and terminating:
        errors.append(field.invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    changed = ready != before.get("ready") or active != before.get("active", 0)
    if changed and ready is not None and ready > active:
        errors.append(field.invalid("status.ready", ready, "cannot set more ready pods than active"))


def _check_met_criteria(status: Json, spec: Json, errors: Errors) -> None:
    if is_condition_true(status, "SuccessCriteriaMet"):
        if is_condition_true(status, "Failed"):
            _refuse_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions", errors)
        if is_condition_true(status, "FailureTarget"):
            _refuse_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions", errors)
    elif "successPolicy" in spec and is_condition_true(status, "Complete"):
        reason = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        _refuse_conditions(reason, errors)


def _check_progress(status: Json, before: Json, spec: Json, errors: Errors) -> None:
    for kind in TERMINAL:
        if is_condition_true(before, kind) and not is_condition_true(status, kind):
            _refuse_conditions(f"cannot disable the terminal {kind}=True condition", errors)
    counters = ["failed"]
    if spec.get("completionMode") != "Indexed" or spec.get("completions") != spec.get("parallelism"):
        counters.append("succeeded")
    for name in counters:
        if status.get(name, 0) < before.get(name, 0):
            reason = f"cannot decrease the {name} counter"
            errors.append(field.invalid(f"status.{name}", status.get(name, 0), reason))
    end = status.get("completionTime")
    if end and before.get("completionTime") and end != before["completionTime"]:
        errors.append(field.invalid("status.completionTime", end, "field is immutable"))
    _check_start_kept(status, before, spec, errors)
    if is_condition_true(before, "SuccessCriteriaMet"):
        if not is_condition_true(status, "SuccessCriteriaMet"):
            _refuse_conditions("cannot disable the SuccessCriteriaMet=True condition", errors)
    elif is_condition_true(before, "Complete") and is_condition_true(status, "SuccessCriteriaMet"):
        reason = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        _refuse_conditions(reason, errors)


def _check_start_kept(status: Json, before: Json, spec: Json, errors: Errors) -> None:
    conditions = status.get("conditions") or NO_ITEMS
    resumes = is_condition_true(before, "Suspended") and any(
        c.get("type") == "Suspended" and c.get("status") == "False" for c in conditions
    )
    start = status.get("startTime")
    if before.get("startTime") and start != before["startTime"] and not spec.get("suspend") and not resumes:
        reason = "field is immutable for unsuspended job once set"
        errors.append(field.invalid("status.startTime", start, reason))
