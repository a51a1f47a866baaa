"""JSON values as Go sees them, which patches need for comparing and for their error texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from kubeloop.apimachinery.field import go_float


def is_same(left: Any, right: Any) -> bool:
    """Equality of JSON values in which 1, 1.0 and true are three things."""
    if type(left) is str:
        return bool(left == right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return go_type(left) == go_type(right) and left == right


def unique(items: Iterable[Any]) -> list[Any]:
    """Without those that are the same as one before."""
    found: dict[Hashable, Any] = {}
    for item in items:
        found.setdefault(identity(item), item)
    return list(found.values())


def identities(values: Iterable[Any]) -> set[Hashable]:
    return {identity(value) for value in values}


def identity(value: Any) -> Hashable:
    """What two values share where `is_same` holds, so that long lists are looked up in and not searched."""
    if type(value) is str:
        return value
    if isinstance(value, dict):
        return go_type(value), frozenset((name, identity(member)) for name, member in value.items())
    if isinstance(value, list):
        return go_type(value), tuple(map(identity, value))
    return go_type(value), value


def without_nulls(value: Any) -> Any:
    """A copy in which no object has a null member; nulls in lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


_GO_TYPES = {
    type(None): "<nil>",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(value: Any) -> str:
    """The Go type that encoding/json gives a value."""
    known = _GO_TYPES.get(type(value))
    if known is not None:
        return known
    return next(name for type_, name in _GO_TYPES.items() if isinstance(value, type_))  # a number as it was spelled


def go_text(value: Any) -> str:
    """A value as Go's %v prints it: `map[a:1 b:[x y]]`, keys sorted."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    return "<nil>" if value is None else str(value)
