"""Match conditions: named expressions that narrow down further what a webhook or policy is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_qualified_name
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

MAX_CONDITIONS = 64


def check_match_conditions(conditions: Sequence[Json], path: str, errors: Errors) -> None:
    if len(conditions) > MAX_CONDITIONS:
        errors.append(field.too_many(path, len(conditions), MAX_CONDITIONS))
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        name, at = condition.get("name", ""), f"{path}[{i}]"
        check_expression(condition.get("expression", ""), f"{at}.expression", errors)
        if not name:
            errors.append(field.required(f"{at}.name"))
            continue
        check_qualified_name(name, f"{at}.name", errors)
        if name in seen:
            errors.append(field.duplicate(f"{at}.name", name))
        seen.add(name)


def check_expression(expression: str, path: str, errors: Errors, *, reason: str = "") -> None:
    """There is an expression at all."""
    if not expression.strip():
        errors.append(field.required(path, reason))
