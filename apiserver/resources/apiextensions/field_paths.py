"""Paths to fields as definitions write them: `.spec.color`, for columns, replicas and selectable fields."""

from __future__ import annotations

from apiserver.resources.checks import Errors
from apiserver.schema.json_schema import Schema, additional_of, properties_of
from kubeloop.apimachinery import field

NO_FIELD = "does not refer to a valid field"


class PathError(ValueError):
    """Why a path leads nowhere."""


def check_simple_path(path_value: str, path: str, errors: Errors) -> bool:
    """The little that is asked of a simple JSON path; whether it was fine."""
    if path_value.startswith("."):
        return True
    errors.append(field.invalid(path, path_value, "must be a simple json path starting with ."))
    return False


def find_field(path_value: str, schema: Schema) -> tuple[tuple[str, ...], Schema | None]:
    """The steps of a dotted path, and the schema it leads to; PathError where it leads nowhere."""
    steps: list[str] = []
    rest = path_value
    found: Schema | None = schema
    while rest:
        if rest[0] == "[":
            raise PathError("array notation is not allowed")
        if rest[0] != ".":
            raise PathError(f"expected [ or . but got: {_token(rest)}")
        rest = rest[1:]
        if not rest:
            raise PathError("unexpected end of JSON path")
        step = _token(rest)
        found = _step_into(found, step)
        steps.append(step)
        rest = rest[len(step) :]
    return tuple(steps), found


def _token(text: str) -> str:
    """What stands before the next delimiter, or the delimiter itself."""
    for i, character in enumerate(text):
        if character in ".[]":
            return text[:i] or character
    return text


def _step_into(schema: Schema | None, step: str) -> Schema | None:
    if schema is not None and properties_of(schema):
        if step not in properties_of(schema):
            raise PathError(NO_FIELD)
        return properties_of(schema)[step]
    if schema is not None and "additionalProperties" in schema:
        return additional_of(schema)
    raise PathError(NO_FIELD)
