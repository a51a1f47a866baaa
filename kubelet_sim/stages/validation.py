"""What the schema of a Stage has against one from a file: a file is read by no API server that would say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeloop.apimachinery.json_schema import Schema, additional_of, items_of, properties_of

_TYPES: Mapping[str, type] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}


def problems(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """Each with the path of its field; unknown fields are problems."""
    if value is None:
        return
    type_ = schema["type"]
    if not _is_of(value, type_):
        yield f"{path}: must be of type {type_}"
    elif type_ == "object":
        yield from _of_fields(value, schema, path)
    elif type_ == "array":
        items = items_of(schema) or {}
        for i, one in enumerate(value):
            yield from problems(one, items, f"{path}[{i}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {', '.join(schema['enum'])}"
    elif type_ == "integer" and value < schema.get("minimum", value):
        yield f"{path}: must be greater than or equal to {schema['minimum']}"


def _is_of(value: Any, type_: str) -> bool:
    return isinstance(value, _TYPES[type_]) and not (type_ == "integer" and isinstance(value, bool))


def _of_fields(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[str]:
    properties, others = properties_of(schema), additional_of(schema)
    for name in schema.get("required") or ():
        if value.get(name) is None:
            yield f"{path}.{name}: is required"
    for name, one in value.items():
        expected = properties.get(name, others)
        if expected is None:
            yield f"{path}.{name}: there is no such field"
        else:
            yield from problems(one, expected, f"{path}.{name}")
