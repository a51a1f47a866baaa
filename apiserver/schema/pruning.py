"""Dropping what a structural schema does not know, and nulls it does not allow.

The codec of custom resources (`custom_type`) calls it for every object that comes in, and for stored ones whose
definition changed since; the definition's own validation asks whether a default would survive it.
"""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    META_FIELDS,
    PRESERVE,
    Schema,
    additional_of,
    items_of,
    properties_of,
)

_NOTHING: Schema = {}


def pruned(value: Any, schema: Schema | None, *, is_object: bool = False, unknown: list[str] | None = None) -> Any:
    """A copy without unknown fields. `is_object`: what every object has is known whatever the schema says.

    The paths of what is dropped are added to `unknown`, as they are met.
    """
    if is_object:
        schema = {**(schema or _NOTHING), EMBEDDED: True}
    return _pruned(value, schema, "", [] if unknown is None else unknown)


def _pruned(value: Any, schema: Schema | None, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _pruned_object(value, schema, path, unknown)
    if isinstance(value, list):
        items = items_of(schema) if schema is not None else None
        if schema is not None and schema.get(PRESERVE):
            if items is None:
                return copied(value)
            items = {**items, PRESERVE: True}
        return [_pruned(element, items, f"{path}[{i}]", unknown) for i, element in enumerate(value)]
    return number(value) if type(value) is float else value


def _pruned_object(value: dict[str, Any], schema: Schema | None, path: str, unknown: list[str]) -> dict[str, Any]:
    if schema is None:
        unknown.extend(_below(path, name) for name in value)
        return {}
    properties, preserve = properties_of(schema), schema.get(PRESERVE)
    is_object, has_additional = schema.get(EMBEDDED), "additionalProperties" in schema
    result = {}
    for name, part in value.items():
        if is_object and name in META_FIELDS:
            result[name] = part
        elif (known := properties.get(name)) is not None:
            result[name] = _pruned(part, known, _below(path, name), unknown)
        elif has_additional:
            additional = additional_of(schema)
            result[name] = _pruned(part, additional, _below(path, name), unknown)
        elif preserve:
            result[name] = copied(part)
        elif path or name not in META_FIELDS:
            unknown.append(_below(path, name))
    return result


def drop_nulls(value: Any, schema: Schema | None, *, of_typed: bool = True) -> None:
    """Take out, in place, nulls of fields that are declared, not nullable, and have no default to replace them.

    `of_typed`: also where the field has a type, which could refuse them.
    """
    if isinstance(value, dict):
        for name, part in list(value.items()):
            known = _schema_of(name, schema)
            if part is not None:
                drop_nulls(part, known, of_typed=of_typed)
            elif known is not None and _is_unwanted(known) and (of_typed or not _has_type(known)):
                del value[name]
    elif isinstance(value, list):
        items = items_of(schema) if schema is not None else None
        for element in value:
            drop_nulls(element, items, of_typed=of_typed)


def _is_unwanted(schema: Schema) -> bool:
    return not schema.get("nullable") and schema.get("default") is None


def _has_type(schema: Schema) -> bool:
    return bool(schema.get("type") or schema.get("x-kubernetes-int-or-string"))


def copied(value: Any) -> Any:
    """A copy of what is kept as it is, but for the spelling of whole numbers."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    if isinstance(value, list):
        return [copied(element) for element in value]
    return number(value) if type(value) is float else value


def number(value: float) -> float | int:
    """Go's JSON writes 1000.0 as 1000; what 64 bits cannot hold stays a float, which can be written again."""
    return int(value) if value.is_integer() and -(1 << 63) <= value < 1 << 64 else value


def _schema_of(name: str, schema: Schema | None) -> Schema | None:
    if schema is None:
        return None
    found = properties_of(schema).get(name)
    return additional_of(schema) if found is None else found


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
