"""The defaults of a structural schema: filled in on writes, and on reads of what was stored before they existed."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.json_schema import Schema, additional_of, all_within, items_of, properties_of
from kubeloop.apimachinery.meta import deep_copy


def has_defaults(schema: Schema) -> bool:
    return any(part.get("default") is not None for part in all_within(schema))


def fill_defaults(value: Any, schema: Schema | None) -> None:
    """In place. A default is used where a field is absent, or null and not nullable; not inside of what is absent."""
    if schema is None:
        return
    if isinstance(value, dict):
        properties = properties_of(schema)
        for name, known in properties.items():
            if known.get("default") is not None and (name not in value or _is_unwanted_null(value[name], known)):
                value[name] = deep_copy(known["default"])
        additional = additional_of(schema)
        for name, part in value.items():
            if (known_part := properties.get(name)) is not None:
                fill_defaults(part, known_part)
            elif additional is not None:
                value[name] = _replaced(part, additional)
                fill_defaults(value[name], additional)
    elif isinstance(value, list) and (items := items_of(schema)) is not None:
        for i, element in enumerate(value):
            value[i] = _replaced(element, items)
            fill_defaults(value[i], items)


def _replaced(value: Any, schema: Schema) -> Any:
    return deep_copy(schema.get("default")) if _is_unwanted_null(value, schema) else value


def _is_unwanted_null(value: Any, schema: Schema) -> bool:
    return value is None and not schema.get("nullable")
