"""Conditions in the modern form (metav1.Condition): each type once, with a status, a reason and a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_qualified_name
from kubeloop.apimachinery import field
from kubeloop.apimachinery.validation import regex_rule

STATUSES = ("False", "True", "Unknown")
MAX_REASON = 1024
MAX_MESSAGE = 32 * 1024
REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_is_reason = re.compile(REASON).fullmatch


def check_conditions(conditions: Sequence[Mapping[str, Any]], path: str, errors: Errors) -> None:
    first: dict[str, int] = {}
    for i, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in first:
            errors.append(field.duplicate(f"{path}[{i}].type", kind))
        first.setdefault(kind, i)
        _check_condition(condition, f"{path}[{i}]", errors)


def _check_condition(condition: Mapping[str, Any], path: str, errors: Errors) -> None:
    kind, status, reason = (condition.get(name, "") for name in ("type", "status", "reason"))
    check_qualified_name(kind, f"{path}.type", errors)
    if status not in STATUSES:
        errors.append(field.not_supported(f"{path}.status", status, STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        at_least_zero = "must be greater than or equal to zero"
        errors.append(field.invalid(f"{path}.observedGeneration", generation, at_least_zero))
    if not condition.get("lastTransitionTime"):
        errors.append(field.required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(field.required(f"{path}.reason"))
    else:
        if not _is_reason(reason):
            rule = (
                "a condition reason must start with alphabetic character, optionally followed by a string of "
                "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
            )
            examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
            errors.append(field.invalid(f"{path}.reason", reason, regex_rule(rule, REASON, *examples)))
        if len(reason) > MAX_REASON:
            errors.append(field.too_long(f"{path}.reason", MAX_REASON))
    if len(condition.get("message", "").encode()) > MAX_MESSAGE:
        errors.append(field.too_long(f"{path}.message", MAX_MESSAGE))
