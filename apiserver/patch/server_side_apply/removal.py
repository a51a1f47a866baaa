"""Taking fields and list items out of a value."""

from __future__ import annotations

from typing import Any

from apiserver.patch.server_side_apply.field_sets import FieldSet, below, holds
from apiserver.patch.server_side_apply.shapes import LIST, SCALAR, Shape


def without(shape: Shape, value: Any, fields: FieldSet) -> Any:
    """`value` without the paths of `fields` and all below them; None where nothing is left of a map or list."""
    if shape.form == SCALAR or not isinstance(value, dict | list):
        return value
    if not value or shape.is_leaf:
        return None
    if isinstance(value, dict):
        return _map_without(shape, value, fields) or None
    return (_list_without(shape, value, fields) or None) if shape.form == LIST else None


def _map_without(shape: Shape, value: dict[str, Any], fields: FieldSet) -> dict[str, Any]:
    kept = {}
    for name, inner in value.items():
        step = f"f:{name}"
        if holds(fields, step):
            continue
        deeper = below(fields, step)
        of = shape.field(name)
        kept[name] = without(of, inner, deeper) if deeper and of is not None else inner
    return kept


def _list_without(shape: Shape, items: list[Any], fields: FieldSet) -> list[Any]:
    kept = []
    for item in items:
        step = shape.step(item)
        if holds(fields, step):
            continue
        deeper = below(fields, step)
        kept.append(without(shape.items, item, deeper) if deeper else item)
    return kept
