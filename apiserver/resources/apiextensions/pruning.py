"""Dropping what a structural schema does not know."""

from __future__ import annotations

from typing import Any

from apiserver.resources.apiextensions.schemas import (
    EMBEDDED,
    META_FIELDS,
    PRESERVE,
    Schema,
    additional_of,
    items_of,
    properties_of,
)


def pruned(value: Any, schema: Schema | None, *, is_object: bool = False) -> Any:
    """A copy without unknown fields. `is_object`: what every object has is known whatever the schema says."""
    if isinstance(value, list):
        preserve_items = schema is not None and bool(schema.get(PRESERVE))
        items = items_of(schema) if schema is not None else None
        return [element if preserve_items and items is None else pruned(element, items) for element in value]
    if not isinstance(value, dict):
        return value
    if schema is None:
        return {}
    keep_meta = is_object or schema.get(EMBEDDED)
    result = {}
    for name, part in value.items():
        if keep_meta and name in META_FIELDS:
            result[name] = part
        elif name in properties_of(schema):
            result[name] = pruned(part, properties_of(schema)[name])
        elif "additionalProperties" in schema:
            result[name] = pruned(part, additional_of(schema))
        elif schema.get(PRESERVE):
            result[name] = part
    return result
