"""Lists, sets and optionals: Kubernetes' list library, CEL's list and set extensions, optional types."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from kubeloop.cel.comprehensions import sorted_by_keys
from kubeloop.cel.functions import Library, function, library
from kubeloop.cel.values import NONE, EvaluationError, NoSuchOverload, Optional, contains, equal

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE = {"int": 0, "uint": 0, "double": 0.0, "duration": None}


def _is_sorted(values: list[Any]) -> bool:
    try:
        return all(a <= b for a, b in pairwise(values))
    except TypeError as error:
        raise NoSuchOverload from error


def _sum(values: list[Any]) -> Any:
    if not values:
        return 0
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _extreme(values: list[Any], choose: Any, name: str) -> Any:
    if not values:
        raise EvaluationError(f"{name} called on empty list")
    return choose(values)


def _index(values: list[Any], wanted: Any) -> int:
    return next((i for i, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index(values: list[Any], wanted: Any) -> int:
    return next((i for i in range(len(values) - 1, -1, -1) if equal(values[i], wanted)), -1)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(values):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    for value in values:
        found.extend(_flatten(value, depth - 1) if isinstance(value, list) and depth > 0 else [value])
    return found


def _sort(values: list[Any]) -> list[Any]:
    return sorted_by_keys(values, values)


def _unwrapped(values: list[Any]) -> list[Any]:
    """The values of those that have one."""
    for value in values:
        _check_optional(value)
    return [value.value for value in values if value.is_present]


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not contains(found, value):
            found.append(value)
    return found


def _has_all(values: list[Any], wanted: list[Any]) -> bool:
    return all(contains(values, value) for value in wanted)


def _value_of(optional: Any) -> Any:
    _check_optional(optional)
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _check_optional(optional: Any) -> None:
    if not isinstance(optional, Optional):
        raise NoSuchOverload


def _or(optional: Any, other: Any) -> Any:
    _check_optional(optional)
    return optional if optional.is_present else other


def _or_value(optional: Any, other: Any) -> Any:
    _check_optional(optional)
    return optional.value if optional.is_present else other


def _has_value(optional: Any) -> bool:
    _check_optional(optional)
    return bool(optional.is_present)


def _of_non_zero(value: Any) -> Optional:
    is_zero = value is None or value is False or value == ZERO_TIME or (not isinstance(value, bool) and not value)
    return NONE if is_zero else Optional(value)


ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)


LISTS: Library = library(
    function("isSorted", _is_sorted, *(f"list({kind}).() bool" for kind in _COMPARABLE)),
    function("sum", _sum, *(f"list({kind}).() {kind}" for kind in _SUMMABLE)),
    function("min", lambda v: _extreme(v, min, "min"), *(f"list({kind}).() {kind}" for kind in _COMPARABLE)),
    function("max", lambda v: _extreme(v, max, "max"), *(f"list({kind}).() {kind}" for kind in _COMPARABLE)),
    function("indexOf", _index, "list(A).(A) int"),
    function("lastIndexOf", _last_index, "list(A).(A) int"),
    function("slice", _slice, "list(A).(int, int) list(A)"),
    function("flatten", _flatten, "list(A).() list(dyn)", "list(A).(int) list(dyn)"),
    function("sort", _sort, *(f"list({kind}).() list({kind})" for kind in _COMPARABLE)),
    function("distinct", _distinct, "list(A).() list(A)"),
    function("reverse", lambda v: v[::-1], "list(A).() list(A)"),
    function("lists.range", lambda n: list(range(n)), "(int) list(int)"),
    function("first", lambda v: Optional(v[0]) if v else NONE, "list(A).() optional(A)"),
    function("last", lambda v: Optional(v[-1]) if v else NONE, "list(A).() optional(A)"),
    function("sets.contains", _has_all, "(list(A), list(A)) bool"),
    function("sets.equivalent", lambda a, b: _has_all(a, b) and _has_all(b, a), "(list(A), list(A)) bool"),
    function("sets.intersects", lambda a, b: any(contains(a, v) for v in b), "(list(A), list(A)) bool"),
)

OPTIONALS: Library = library(
    function("optional.of", Optional, "(A) optional(A)"),
    function("optional.ofNonZeroValue", _of_non_zero, "(A) optional(A)"),
    function("optional.none", lambda: NONE, "() optional(A)"),
    function("optional.unwrap", _unwrapped, "(list(optional(A))) list(A)"),
    function("unwrapOpt", _unwrapped, "list(optional(A)).() list(A)"),
    function("hasValue", _has_value, "optional(A).() bool"),
    function("value", _value_of, "optional(A).() A"),
    function("or", _or, "optional(A).(optional(A)) optional(A)"),
    function("orValue", _or_value, "optional(A).(A) A"),
)
