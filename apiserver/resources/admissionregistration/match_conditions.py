"""Match conditions: named expressions that narrow down further what a webhook or policy is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.resources.checks import Errors, check_qualified_name

if TYPE_CHECKING:
    from kubeloop.cel.policy_expressions import Expressions
    from kubeloop.cel.types import Type
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

MAX_CONDITIONS = 64


def check_match_conditions(conditions: Sequence[Json], path: str, errors: Errors, *, has_params: bool = False) -> None:
    if len(conditions) > MAX_CONDITIONS:
        errors.append(field.too_many(path, len(conditions), MAX_CONDITIONS))
    if not conditions:
        return
    from kubeloop.cel.policy_expressions import CONDITION, Expressions

    expressions, seen = Expressions.of(has_params=has_params), set[str]()
    for i, condition in enumerate(conditions):
        name, at = condition.get("name", ""), f"{path}[{i}]"
        source = condition.get("expression", "")
        if check_expression(source, f"{at}.expression", errors):
            check_compiles(source.strip(), expressions, CONDITION, f"{at}.expression", errors)
        if not name:
            errors.append(field.required(f"{at}.name"))
            continue
        check_qualified_name(name, f"{at}.name", errors)
        if name in seen:
            errors.append(field.duplicate(f"{at}.name", name))
        seen.add(name)


def check_expression(expression: str, path: str, errors: Errors, *, reason: str = "") -> bool:
    """There is an expression at all."""
    if expression.strip():
        return True
    errors.append(field.required(path, reason))
    return False


def check_compiles(
    expression: str,
    expressions: Expressions,
    results: Sequence[Type],
    path: str,
    errors: Errors,
    *,
    shown: str | None = None,
) -> None:
    """It is one of CEL, of a type that is asked for. `shown` is how the error quotes it, where that is not as it is."""
    try:
        expressions.compile(expression, *results)
    except ValueError as error:
        errors.append(field.invalid(path, expression if shown is None else shown, str(error)))
