"""Numbers against a schema: what kube-openapi's validator says of bounds, factors and ranges of formats.

A whole number is compared with the whole part of a bound, as Go converts it; a fraction as a bound of an integer is
itself refused, with the value.
"""

from __future__ import annotations

import math
from typing import Any

from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError, go_value
from kubeloop.apimachinery.json_schema import Schema

_LARGEST_SAFE = 2**53 - 1  # JSON's
_LARGEST_FLOAT32 = 3.4028235677973366e38  # what no longer rounds to a finite one
_EPSILON = 1e-9
_BITS = {"int32": 32}

Errors = list[FieldError]


def check_number(value: int | float, type_: str, schema: Schema, base: str, at: str, name: str, errors: Errors) -> None:
    """`type_` is the one type the schema has, or "" where it has none or several."""
    _check_range(value, type_, schema, "Checked", base, name, errors)
    if (factor := schema.get("multipleOf")) is not None:
        fits = _check_range(float(factor), type_, schema, "MultipleOf", base, name, errors)
        _check_multiple(value, factor, at, name, errors, whole=fits and isinstance(value, int))
    for bound, sign in (("minimum", -1), ("maximum", 1)):
        if (limit := schema.get(bound)) is not None:
            fits = _check_range(float(limit), type_, schema, f"{bound.capitalize()} boundary", base, name, errors)
            limit = int(limit) if fits and isinstance(value, int) else float(limit)
            _check_bound(value, limit, sign, bool(schema.get(f"exclusive{bound.capitalize()}")), at, name, errors)


def is_whole(value: float) -> bool:
    """Whether Go takes a float for an integer: near enough to one, and in the range JSON keeps exactly."""
    if not math.isfinite(value) or abs(value) > _LARGEST_SAFE:
        return False
    whole = math.trunc(value)
    if whole == value:
        return True
    return whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _EPSILON


def _check_range(
    value: int | float, type_: str, schema: Schema, what: str, base: str, name: str, errors: Errors
) -> bool:
    """Whether the type, or the format of that type, can hold the number."""
    form = schema.get("format", "")
    match type_:
        case "integer":
            form = form if form in ("int32", "int64") else ""
            limit = 1 << _BITS.get(form, 64) - 1
            fits = value == math.trunc(value) and -limit <= value < limit
        case "number":
            form = form if form in ("float", "double") else ""
            fits = form != "float" or abs(value) < _LARGEST_FLOAT32
        case _:
            return True
    if not fits:
        wanted = f"{type_} with format {form}" if form else f"{type_} (default format)"
        errors.append(field.invalid(base or "<nil>", "", f"{what} value must be of type {wanted} in {name}"))
    return fits


def _check_multiple(value: Any, factor: int | float, at: str, name: str, errors: Errors, *, whole: bool) -> None:
    factor = int(factor) if whole else float(factor)
    if factor <= 0:
        message = f"factor MultipleOf declared for {name} must be positive: {go_value(factor)}"
        errors.append(field.invalid(at, factor, message))
    elif value % factor if whole else not is_whole(1 / factor * value if factor < 1 else value / factor):
        errors.append(field.invalid(at, value, f"{name} in body should be a multiple of {go_value(factor)}"))


def _check_bound(
    value: int | float, limit: int | float, sign: int, is_strict: bool, at: str, name: str, errors: Errors
) -> None:
    beyond = (value - limit) * sign
    if beyond < 0 or (beyond == 0 and not is_strict):
        return
    words = "less than" if sign > 0 else "greater than"
    rule = words if is_strict else f"{words} or equal to"
    errors.append(field.invalid(at, value, f"{name} in body should be {rule} {go_value(limit)}"))
