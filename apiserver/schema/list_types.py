"""Lists that are sets or maps: no value and no key twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.json_schema import (
    LIST_KEYS,
    LIST_TYPE,
    Schema,
    additional_of,
    all_within,
    items_of,
    properties_of,
    with_sorted_keys,
)


def has_unique_lists(schema: Schema) -> bool:
    return any(part.get(LIST_TYPE) in ("set", "map") for part in all_within(schema))


def uniqueness_errors(value: Any, schema: Schema, path: str = "") -> Iterator[FieldError]:
    """A Duplicate for the second appearance of each value or key."""
    if isinstance(value, list):
        yield from _list_errors(value, schema, path)
    elif isinstance(value, dict):
        properties, additional = properties_of(schema), additional_of(schema)
        for name, part in value.items():
            if additional is not None:
                yield from uniqueness_errors(part, additional, field.key(path, name))
            elif name in properties:
                yield from uniqueness_errors(part, properties[name], field.child(path, name))


def _list_errors(value: Sequence[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    match schema.get(LIST_TYPE):
        case "set":
            yield from _repetitions(value, path)
        case "map":
            yield from _repeated_keys(value, schema, path)
    if (items := items_of(schema)) is not None:
        for i, element in enumerate(value):
            yield from uniqueness_errors(element, items, field.index(path, i))


def _repetitions(values: Sequence[Any], path: str) -> Iterator[FieldError]:
    seen: dict[bytes, int] = {}
    for i, value in enumerate(values):
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield field.duplicate(field.index(path, i), with_sorted_keys(value))


def _repeated_keys(value: Sequence[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    for i, element in enumerate(value):
        if element is not None and not isinstance(element, dict):
            why = "must be an object for an array of list-type map"
            yield field.invalid(field.index(path, i), with_sorted_keys(element), why)
            return
    names = schema.get(LIST_KEYS) or ()
    yield from _repetitions([{k: e[k] for k in names if k in e} for e in ((e or {}) for e in value)], path)
