"""What CEL expressions compute with. JSON values stand for themselves; the rest of CEL's types are here.

int, float, str, bytes, bool, None, list and dict are CEL's int, double, string, bytes, bool, null, list and map;
timedelta and datetime are durations and timestamps. Python's own mixing of bool and int is undone by `equal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

MAX_INT, MIN_INT = 2**63 - 1, -(2**63)


class EvaluationError(ValueError):
    """An expression has no value; the message is cel-go's."""


class UInt(int):
    """An unsigned integer."""


class NoSuchOverload(EvaluationError):
    def __init__(self) -> None:
        super().__init__("no such overload")


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    is_present: bool = True


NONE = Optional(is_present=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What type(x) gives."""

    name: str


class SetList(list[Any]):
    """A list in which order does not count; adding to it adds what it has not."""

    def __add__(self, other: list[Any]) -> SetList:
        return SetList([*self, *(element for element in other if not contains(self, element))])


class MapList(list[Any]):
    """A list of objects known by their keys, in any order; adding to it replaces what it has."""

    def __init__(self, elements: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys

    def by_key(self) -> dict[tuple[Any, ...], Any]:
        return keyed(self, self.keys)

    def __add__(self, other: list[Any]) -> MapList:
        return MapList(list({**self.by_key(), **keyed(other, self.keys)}.values()), self.keys)


def keyed(elements: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Any]:
    return {tuple(element.get(key) for key in keys): element for element in elements}


class StructValue(dict[str, Any]):
    """`Name{field: value}`."""

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    @property
    def cel_type(self) -> str:
        return self.type_name


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value across types, never a bool with a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, StructValue) or isinstance(right, StructValue):
        return type_name(left) == type_name(right) and dict(left) == dict(right)
    if isinstance(left, SetList) and isinstance(right, list):
        return len(left) == len(right) and all(contains(left, element) for element in right)
    if isinstance(left, MapList) and isinstance(right, list):
        return len(left) == len(right) and equal(left.by_key(), keyed(right, left.keys))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.is_present == right.is_present and equal(left.value, right.value)
    return bool(left == right)


def checked_int(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise EvaluationError("integer overflow")
    return value


def contains(values: Any, value: Any) -> bool:
    """`value in values`."""
    if isinstance(values, Mapping):
        return not isinstance(value, list | dict) and value in values
    if isinstance(values, list):
        return any(equal(element, value) for element in values)
    raise NoSuchOverload


def type_name(value: Any) -> str:
    """The name that type(x) shows."""
    if isinstance(value, StructValue):
        return value.type_name
    for python, name in _NAMES:
        if isinstance(value, python):
            return name
    return getattr(value, "cel_type", type(value).__name__)


_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (type(None), "null_type"),
    (timedelta, "google.protobuf.Duration"),
    (datetime, "google.protobuf.Timestamp"),
    (Optional, "optional_type"),
    (TypeValue, "type"),
)
