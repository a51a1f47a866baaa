"""Shapes: how ownership sees a type. Of a TypeNode only this matters here: what is owned whole, and what part by part.

A shape is a leaf (a scalar, an atomic list or map), a map (named fields, or any keys), or a list whose items have a
name of their own (by keys, or by value in a set). The shape of unknown JSON is deduced from the value: maps part by
part, all else whole. Shapes are made on first use and shared by every object of a kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.patch.server_side_apply.path_elements import FIELD, KEY, key_step, single_key_step, value_step
from apiserver.schema.nodes import Omit, TypeNode

SCALAR, MAP, LIST, DEDUCED = "scalar", "map", "list", "deduced"

# What a scalar may hold: text, a number, a boolean, or any of these.
_SCALARS = {"string": "string", "bytes": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}
_UNTYPED = "untyped"
_DEDUCED_TYPES = frozenset({"any", "schema-or-bool", "schema-or-list", "schema-or-strings"})


class Unnamed(ValueError):
    """A list item that has no name: its keys are missing, or it is of a type that cannot be one."""


class Shape:
    """The shape of one value."""

    __slots__ = ("_fields", "_items", "_node", "_values", "form", "is_leaf", "keys", "scalar")

    def __init__(self, node: TypeNode) -> None:
        self._node = node
        self.form = _form(node)
        self.scalar = _scalar(node)
        self.keys: tuple[str, ...] = ()  # of a list by keys, sorted; a set has none
        self.is_leaf = self.form == SCALAR or self._is_atomic(node)
        self._fields: Mapping[str, Shape] | None = None
        self._items: Shape | None = None
        self._values: Shape | None = None

    def _is_atomic(self, node: TypeNode) -> bool:
        if self.form == MAP:
            return node.map_type == "atomic"
        if self.form != LIST:
            return False
        if node.list_type == "map":
            self.keys = tuple(sorted(node.list_map_keys))
        elif not node.list_type and node.merge_key and "merge" in node.patch_strategies:
            self.keys = (node.merge_key,)
        elif node.list_type != "set":
            return bool(node.list_type) or "merge" not in node.patch_strategies
        return False

    @property
    def fields(self) -> Mapping[str, Shape]:
        """The named fields of a map."""
        if self._fields is None:
            self._fields = {name: Shape(field) for name, field in self._node.fields.items()}
        return self._fields

    @property
    def values(self) -> Shape | None:
        """The shape of what stands under any other key; None where there may be no other."""
        if self.form == DEDUCED:
            return self
        if self._values is None:
            if self._node.values is not None:
                self._values = Shape(self._node.values)
            elif self._node.preserves_unknown_fields:
                self._values = UNKNOWN
        return self._values

    @property
    def items(self) -> Shape:
        """The shape of a list's items."""
        if self._items is None:
            self._items = Shape(self._node.items) if self._node.items is not None else UNKNOWN
        return self._items

    def field(self, name: str) -> Shape | None:
        """The shape of what stands under a key."""
        return self.fields.get(name) or self.values

    def below(self, step: str) -> Shape | None:
        """The shape at the end of a step, None where the step leads nowhere."""
        if step.startswith(FIELD) and self.form in (MAP, DEDUCED):
            return self.field(step[2:])
        return self.items if step.startswith(KEY) and self.form == LIST else None

    def step(self, item: Any) -> str:
        """The step that names an item of this list. Raises Unnamed."""
        keys = self.keys
        if not keys:
            return _set_step(item)
        if type(item) is not dict:
            what = "a null element" if item is None else "non-map elements"
            raise Unnamed(f"associative list with keys may not have {what}")
        if len(keys) == 1 and (value := item.get(keys[0])) is not None:
            return single_key_step(keys[0], value)
        found = {}
        for name in keys:
            value = item[name] if name in item else self._default(name)
            if value is not None or name in item:
                found[name] = value
        if not found:
            quoted = " ".join(f'"{name}"' for name in self._node.list_map_keys or keys)
            raise Unnamed(
                f"associative list with keys has an element that omits all key fields [{quoted}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_step(found)

    def _default(self, name: str) -> Any:
        """What a missing key means: what its type declares, or the zero of what Go always writes."""
        items = self._node.items
        field = items.fields.get(name) if items is not None else None
        if field is None or field.default is not None:
            return None if field is None else field.default
        return _ZEROS.get(field.type) if field.omit is Omit.NEVER and not field.is_pointer else None


_ZEROS = {"string": "", "integer": 0, "boolean": False}


def _scalar(node: TypeNode) -> str:
    """Text of some format may be anything to structured merge, but for bytes."""
    if node.type == "string" and node.format not in ("", "byte"):
        return _UNTYPED
    return _SCALARS.get(node.type, _UNTYPED)


def _form(node: TypeNode) -> str:
    if node.type in _DEDUCED_TYPES or (node.type == "int-or-string" and not node.go_type):
        return DEDUCED  # a custom resource's number or text is published without a type
    if node.type in ("object", "map"):
        return MAP
    return LIST if node.type == "list" else SCALAR


def _set_step(item: Any) -> str:
    if isinstance(item, dict):
        raise Unnamed("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise Unnamed("not supported: associative list with lists as elements")
    if item is None:
        raise Unnamed("associative list without keys has an element that's an explicit null")
    return value_step(item)


UNKNOWN = Shape(TypeNode(type="any"))
