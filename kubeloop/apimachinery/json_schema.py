"""Walking OpenAPI schemas as CustomResourceDefinitions carry them: the JSON of JSONSchemaProps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"
JUNCTORS = ("allOf", "oneOf", "anyOf")
META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})


def items_of(schema: Schema) -> Schema | None:
    """The schema of a list's items; None where there is none, or (as JSON schema allows) several."""
    items = schema.get("items")
    return items if isinstance(items, Mapping) else None


def properties_of(schema: Schema) -> Mapping[str, Schema]:
    return schema.get("properties") or {}


def additional_of(schema: Schema) -> Schema | None:
    """The schema of further properties, where they have one."""
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, Mapping) else None


def all_within(schema: Schema) -> Iterator[Schema]:
    """The schema and every one inside it."""
    yield schema
    inner = [items_of(schema)]
    for name in ("allOf", "anyOf", "oneOf"):
        inner += schema.get(name) or ()
    for part in (*inner, schema.get("not"), *properties_of(schema).values(), additional_of(schema)):
        if part is not None:
            yield from all_within(part)


def with_sorted_keys(value: Any) -> Any:
    """JSON as Go writes its maps: sorted by key."""
    if isinstance(value, Mapping):
        return {name: with_sorted_keys(part) for name, part in sorted(value.items())}
    return [with_sorted_keys(part) for part in value] if isinstance(value, list) else value
