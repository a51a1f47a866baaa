"""Tolerations of pods and taints of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_choice, check_one_of, check_qualified_name
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_tolerations(tolerations: Sequence[Json], path: str, errors: Errors) -> None:
    for i, toleration in enumerate(tolerations):
        _check_toleration(toleration, f"{path}[{i}]", errors)


def check_taints(taints: Sequence[Json], path: str, errors: Errors) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at = f"{path}[{i}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        check_qualified_name(key, f"{at}.key", errors)
        if reasons := validation.label_value_errors(value):
            errors.append(field.invalid(f"{at}.value", value, ";".join(reasons)))
        check_choice(effect, EFFECTS, f"{at}.effect", errors)
        if (key, effect) in seen:
            go_taint = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            error = field.duplicate(at, go_taint)
            body = f"{error.body}: taints must be unique by key and effect pair"
            errors.append(field.FieldError(error.reason, error.field, body))
        seen.add((key, effect))


def _check_toleration(toleration: Json, path: str, errors: Errors) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        check_qualified_name(key, f"{path}.key", errors)
    elif operator != "Exists":
        reason = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(field.invalid(f"{path}.operator", operator, reason))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        reason = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(field.invalid(f"{path}.effect", effect, reason))
    if operator in ("", "Equal"):
        if reasons := validation.label_value_errors(value):
            errors.append(field.invalid(f"{path}.operator", value, ";".join(reasons)))
    elif operator == "Exists":
        if value:
            reason = "value must be empty when `operator` is 'Exists'"
            errors.append(field.invalid(f"{path}.operator", value, reason))
    else:
        # Comparing with Lt and Gt is behind a feature gate that is off in v1.36, yet its refusal names them.
        supported = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        errors.append(field.not_supported(f"{path}.operator", operator, supported))
    if effect:
        check_one_of(effect, EFFECTS, f"{path}.effect", errors)
