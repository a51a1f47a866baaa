"""What a Job's spec must be, in a Job and inside a CronJob: completions, indexes, failure and success policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.batch.index_intervals import IntervalError, count_indexes
from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_domain_path,
    check_not_negative,
    check_one_of,
    check_qualified_name,
)
from apiserver.resources.filling import fill
from apiserver.resources.pods.defaults import default_pod_template
from apiserver.resources.pods.pod_template import check_pod_template
from apiserver.resources.pods.warnings import template_warnings
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

INDEXED = "Indexed"
MODES = ("NonIndexed", INDEXED)
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
CONDITION_STATUSES = ("False", "True", "Unknown")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
MAX_PARALLELISM = MAX_FAILED_INDEXES = MANY_COMPLETIONS = 100_000
MAX_WHEN_MANY = 10_000
MAX_RULES = MAX_CONDITIONS = 20
MAX_EXIT_CODES = 255
MAX_MANAGED_BY = 63
MAX_INDEXES_LENGTH = 64 * 1024
MAX_INT32 = 2**31 - 1
NOT_NEGATIVE = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
)


def default_job(job: Object) -> None:
    """A Job's own defaults. A CronJob's template gets none of them: they come when it makes Jobs."""
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    fill(
        spec,
        {
            "parallelism": 1,
            "backoffLimit": MAX_INT32 if "backoffLimitPerIndex" in spec else 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
            "manualSelector": False,
        },
    )
    take_template_labels(job)


def take_template_labels(job: Object) -> None:
    """A Job without labels has its template's."""
    labels = (job["spec"]["template"].get("metadata") or NO_FIELDS).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def default_job_spec(spec: Object) -> None:
    """What a Job's spec gets wherever it stands."""
    default_pod_template(spec.setdefault("template", {}))
    for rule in (spec.get("podFailurePolicy") or NO_FIELDS).get("rules") or NO_ITEMS:
        for pattern in rule.get("onPodConditions") or NO_ITEMS:
            pattern["status"] = pattern.get("status") or "True"


def check_job_spec(spec: Json, path: str, errors: Errors) -> None:
    for name in NOT_NEGATIVE:
        if name in spec:
            check_not_negative(spec[name], f"{path}.{name}", errors)
    if "maxFailedIndexes" in spec:
        check_not_negative(spec["maxFailedIndexes"], f"{path}.maxFailedIndexes", errors)
        if "backoffLimitPerIndex" not in spec:
            errors.append(field.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        check_domain_path(spec["managedBy"], f"{path}.managedBy", errors)
        if len(spec["managedBy"]) > MAX_MANAGED_BY:
            errors.append(field.too_long(f"{path}.managedBy", MAX_MANAGED_BY))
    mode = spec.get("completionMode")
    if mode is not None:
        check_one_of(mode, MODES, f"{path}.completionMode", errors)
    if mode == INDEXED:
        _check_indexed(spec, path, errors)
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                errors.append(field.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode"))
    if "podFailurePolicy" in spec:
        _check_failure_policy(spec, f"{path}.podFailurePolicy", errors)
    if "successPolicy" in spec:
        _check_success_policy(spec, f"{path}.successPolicy", errors)
    _check_replacement(spec, f"{path}.podReplacementPolicy", errors)
    check_pod_template(spec.get("template") or NO_FIELDS, f"{path}.template", errors)
    _check_restart_policy(spec, f"{path}.template.spec.restartPolicy", errors)


def job_spec_warnings(spec: Json, path: str) -> list[str]:
    warnings = []
    many = spec.get("completions", 0) > MANY_COMPLETIONS and spec.get("parallelism", 0) > MAX_WHEN_MANY
    if spec.get("completionMode") == INDEXED and many:
        warnings.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
            "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    return warnings + template_warnings(spec.get("template"), f"{path}.template.")


def _check_indexed(spec: Json, path: str, errors: Errors) -> None:
    completions, parallelism, failed = (spec.get(n) for n in ("completions", "parallelism", "maxFailedIndexes"))

    def refuse(name: str, value: int, reason: str) -> None:
        errors.append(field.invalid(f"{path}.{name}", value, f"must be less than or equal to {reason}"))

    if completions is None:
        errors.append(field.required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > MAX_PARALLELISM:
        refuse("parallelism", parallelism, f"{MAX_PARALLELISM} when completion mode is Indexed")
    if completions is not None and failed is not None and failed > completions:
        refuse("maxFailedIndexes", failed, "completions")
    if failed is not None and failed > MAX_FAILED_INDEXES:
        refuse("maxFailedIndexes", failed, str(MAX_FAILED_INDEXES))
    if completions is None or completions <= MANY_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    when = f"when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
    if failed is None:
        reason = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.append(field.required(f"{path}.maxFailedIndexes", reason))
    if parallelism is not None and parallelism > MAX_WHEN_MANY:
        refuse("parallelism", parallelism, f"{MAX_WHEN_MANY} {when}")
    if failed is not None and failed > MAX_WHEN_MANY:
        refuse("maxFailedIndexes", failed, f"{MAX_WHEN_MANY} {when}")


def _check_replacement(spec: Json, path: str, errors: Errors) -> None:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    if "podFailurePolicy" in spec:
        # Pods that still end might yet be judged by the failure policy.
        check_one_of(policy, ("Failed",), path, errors)
    else:
        check_one_of(policy, REPLACEMENTS, path, errors)


def _check_restart_policy(spec: Json, path: str, errors: Errors) -> None:
    policy = ((spec.get("template") or NO_FIELDS).get("spec") or NO_FIELDS).get("restartPolicy", "")
    if policy in ("", "Always"):
        errors.append(field.required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(field.not_supported(path, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        reason = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(field.invalid(path, policy, reason))


def _check_failure_policy(spec: Json, path: str, errors: Errors) -> None:
    rules = spec["podFailurePolicy"].get("rules") or NO_ITEMS
    if len(rules) > MAX_RULES:
        errors.append(field.too_many(f"{path}.rules", len(rules), MAX_RULES))
    pod_spec = (spec.get("template") or NO_FIELDS).get("spec") or NO_FIELDS
    names = {
        container.get("name")
        for list_name in ("containers", "initContainers")
        for container in pod_spec.get(list_name) or NO_ITEMS
    }
    for i, rule in enumerate(rules):
        _check_failure_rule(rule, spec, names, f"{path}.rules[{i}]", errors)


def _check_failure_rule(rule: Json, spec: Json, names: set[Any], path: str, errors: Errors) -> None:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
    if not action:
        errors.append(field.required(f"{path}.action", f"valid values: {_go_list(ACTIONS)}"))
    elif action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            errors.append(field.invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    else:
        check_one_of(action, ACTIONS, f"{path}.action", errors)
    if codes is not None:
        _check_exit_codes(codes, names, f"{path}.onExitCodes", errors)
    if conditions:
        _check_pod_conditions(conditions, f"{path}.onPodConditions", errors)
    if codes is not None and conditions:
        _refuse(path, "specifying both OnExitCodes and OnPodConditions is not supported", errors)
    if codes is None and not conditions:
        _refuse(path, "specifying one of OnExitCodes and OnPodConditions is required", errors)


def _refuse(path: str, reason: str, errors: Errors) -> None:
    """An invalid value that is not quoted."""
    errors.append(field.FieldError(field.INVALID, path, f"Invalid value: {reason}"))


def _go_list(values: Sequence[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _check_exit_codes(codes: Json, names: set[Any], path: str, errors: Errors) -> None:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        errors.append(field.required(f"{path}.operator", f"valid values: {_go_list(OPERATORS)}"))
    else:
        check_one_of(operator, OPERATORS, f"{path}.operator", errors)
    if "containerName" in codes and codes["containerName"] not in names:
        reason = "must be one of the container or initContainer names in the pod template"
        errors.append(field.invalid(f"{path}.containerName", codes["containerName"], reason))
    at = f"{path}.values"
    if not values:
        errors.append(field.invalid(at, values, "at least one value is required"))
    elif len(values) > MAX_EXIT_CODES:
        errors.append(field.too_many(at, len(values), MAX_EXIT_CODES))
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(field.invalid(f"{at}[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(field.duplicate(f"{at}[{i}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(field.invalid(at, values, "must be ordered"))


def _check_pod_conditions(conditions: Sequence[Json], path: str, errors: Errors) -> None:
    if len(conditions) > MAX_CONDITIONS:
        errors.append(field.too_many(path, len(conditions), MAX_CONDITIONS))
    for i, pattern in enumerate(conditions):
        check_qualified_name(pattern.get("type", ""), f"{path}[{i}].type", errors)
        status = pattern.get("status", "")
        if not status:
            reason = f"valid values: {_go_list(CONDITION_STATUSES)}"
            errors.append(field.required(f"{path}[{i}].status", reason))
        else:
            check_one_of(status, CONDITION_STATUSES, f"{path}[{i}].status", errors)


def _check_success_policy(spec: Json, path: str, errors: Errors) -> None:
    rules = spec["successPolicy"].get("rules") or NO_ITEMS
    if spec.get("completionMode") != INDEXED:
        go_rules = [
            {"SucceededIndexes": r.get("succeededIndexes"), "SucceededCount": r.get("succeededCount")} for r in rules
        ]
        value = {"Rules": go_rules or None}
        errors.append(field.invalid(path, value, "requires indexed completion mode"))
        return
    if not rules:
        reason = "at least one rules must be specified when the successPolicy is specified"
        errors.append(field.required(f"{path}.rules", reason))
    if len(rules) > MAX_RULES:
        errors.append(field.too_many(f"{path}.rules", len(rules), MAX_RULES))
    for i, rule in enumerate(rules):
        _check_success_rule(rule, spec.get("completions", 0), f"{path}.rules[{i}]", errors)


def _check_success_rule(rule: Json, completions: int, path: str, errors: Errors) -> None:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        reason = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(field.required(path, reason))
    total = 0
    if indexes is not None:
        if len(indexes) > MAX_INDEXES_LENGTH:
            errors.append(field.too_long(f"{path}.succeededIndexes", MAX_INDEXES_LENGTH))
        try:
            total = count_indexes(indexes, completions)
        except IntervalError as error:
            reason = f"error parsing succeededIndexes: {error}"
            errors.append(field.invalid(f"{path}.succeededIndexes", indexes, reason))
    if count is None:
        return
    at = f"{path}.succeededCount"
    check_not_negative(count, at, errors)
    if count > completions:
        reason = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(field.invalid(at, count, reason))
    if indexes is not None and count > total:
        what = "(the number of indexes in the specified succeededIndexes field)"
        errors.append(field.invalid(at, count, f"must be less than or equal to {total} {what}"))
