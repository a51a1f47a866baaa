"""The slow, exact reading of a JSON value: which Go error a real server would answer, and what strict decoding finds.

The codec calls it only for values in which its fast pass met something. It walks the text's own order, with repeated
keys, the way sigs.k8s.io/json walks it: a value of a wrong type is remembered and the walk goes on, an error of a
type's own UnmarshalJSON (quantities, times) ends it and is the one reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apiserver.schema.json_text import NumberLiteral, Pairs, pairs_of, parse_pairs
from apiserver.schema.nodes import TypeNode
from apiserver.schema.scalars import base64_text, micro_time_text, quantity_text, time_text
from kubeloop.apimachinery.field import go_quote

MAX_PROBLEMS = 100  # sigs.k8s.io/json stops collecting there
_RANGES = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint8": (0, (1 << 8) - 1),
}
_BYTE = TypeNode(type="integer", format="uint8", go_type="uint8")


class DecodeError(ValueError):
    """A value cannot be decoded into its Go type; the message is Go's."""


def explain(node: TypeNode, value: Any, raw: bytes = b"") -> list[str]:
    """The problems strict decoding reports, in the real server's words and order. Raises DecodeError.

    With `raw`, the JSON text of `value`, repeated keys and the spelling of numbers are known too.
    """
    walk = _Walk()
    walk.visit(parse_pairs(raw) if raw else pairs_of(value), node)
    if walk.first_mismatch:
        raise DecodeError(walk.first_mismatch)
    return list(walk.problems)


class _Walk:
    """One walk: where it is, in Go's terms and in those of field paths, and what it has found."""

    def __init__(self) -> None:
        self.first_mismatch = ""
        self.problems: dict[str, None] = {}
        self._struct = ""  # the Go struct whose field is being read
        self._go_path: tuple[str, ...] = ()
        self._path = ""

    def visit(self, value: Any, node: TypeNode) -> None:
        if node.type in _UNMARSHALERS:
            self._unmarshal(value, node)
        elif value is None:
            return
        elif isinstance(value, Pairs):
            self._object(value, node)
        elif isinstance(value, list):
            self._list(value, node)
        else:
            self._scalar(value, node)

    def _object(self, pairs: Pairs, node: TypeNode) -> None:
        if node.type not in ("object", "map"):
            self._mismatch("object", node.go_type)
            return
        seen: set[str] = set()
        for key, item in pairs:
            below = node.field(key)
            if below is None:
                self._problem("unknown", key)
                continue
            if key in seen:
                self._problem("duplicate", key)
            seen.add(key)
            with self._inside(node, key, below):
                self.visit(item, below)

    def _list(self, items: list[Any], node: TypeNode) -> None:
        element = _BYTE if node.type == "bytes" else node.items
        if element is None:
            self._mismatch("array", node.go_type)
            return
        path = self._path
        for i, item in enumerate(items):
            self._path = f"{path}[{i}]"
            self.visit(item, element)
        self._path = path

    def _scalar(self, value: Any, node: TypeNode) -> None:
        expected: Any = _JSON_TYPES.get(node.type)
        if expected is None or not isinstance(value, expected) or (isinstance(value, bool) != (node.type == "boolean")):
            self._mismatch(_spelled(value, node), node.go_type)
        elif node.type == "integer":
            lowest, highest = _RANGES[node.format if node.format in _RANGES else "int64"]
            if isinstance(value, float) or not lowest <= value <= highest:
                self._mismatch(_spelled(value, node), node.go_type)
        elif node.type == "bytes":
            self._remember(_complaint_of(base64_text, value))

    def _unmarshal(self, value: Any, node: TypeNode) -> None:
        """Types with their own UnmarshalJSON; what they refuse ends the walk."""
        if message := _UNMARSHALERS[node.type](self, value, node):
            raise DecodeError(message)

    def quantity(self, value: Any, node: TypeNode) -> str:
        if value is None:
            return ""
        if isinstance(value, NumberLiteral):
            return _complaint_of(quantity_text, value.text)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return _complaint_of(quantity_text, str(value))
        return _complaint_of(quantity_text, "{}")

    def time(self, value: Any, node: TypeNode) -> str:
        if isinstance(value, str):
            return _complaint_of(time_text if node.type == "time" else micro_time_text, value)
        return "" if value is None else self._mismatch_text(_go_kind(value), "string")

    def int_or_string(self, value: Any, node: TypeNode) -> str:
        if value is None or isinstance(value, str):
            return ""
        lowest, highest = _RANGES["int32"]
        if type(value) is int and lowest <= value <= highest:
            return ""
        literal = f" {_literal(value)}" if _go_kind(value) == "number" else ""
        return self._mismatch_text(_go_kind(value) + literal, "int32")

    def schema_union(self, value: Any, node: TypeNode) -> str:
        if isinstance(value, Pairs) and node.items is not None:
            return self._lenient(value, node.items)
        if node.type == "schema-or-bool":
            return "" if isinstance(value, bool) else "boolean or JSON schema expected"
        if isinstance(value, list) and node.items is not None:
            item = node.items if node.type == "schema-or-list" else TypeNode(type="string", go_type="string")
            return self._lenient(value, TypeNode(type="list", items=item, go_type="[]v1.JSONSchemaProps"))
        return ""

    def anything(self, value: Any, node: TypeNode) -> str:
        return ""

    def _lenient(self, value: Any, node: TypeNode) -> str:
        """A nested json.Unmarshal, which knows nothing of strictness; its error is this one's."""
        inner = _Walk()
        inner._struct, inner._go_path = self._struct, self._go_path
        inner.visit(value, node)
        return inner.first_mismatch

    @contextmanager
    def _inside(self, node: TypeNode, key: str, below: TypeNode) -> Iterator[None]:
        struct, go_path, path = self._struct, self._go_path, self._path
        self._path = f"{path}.{key}" if path else key
        if node.type == "object":  # Go's error context knows struct fields only, no map keys and no list indices
            self._struct = node.go_type.rpartition(".")[2]
            self._go_path = (*go_path, *below.embedded, key)
        yield
        self._struct, self._go_path, self._path = struct, go_path, path

    def _problem(self, what: str, key: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems[f"{what} field {go_quote(f'{self._path}.{key}' if self._path else key)}"] = None

    def _mismatch(self, value: str, go_type: str) -> None:
        self._remember(self._mismatch_text(value, go_type))

    def _mismatch_text(self, value: str, go_type: str) -> str:
        where = f"struct field {self._struct}.{'.'.join(self._go_path)} of" if self._go_path else "value of"
        return f"json: cannot unmarshal {value} into Go {where} type {go_type}"

    def _remember(self, message: str) -> None:
        self.first_mismatch = self.first_mismatch or message


_UNMARSHALERS: dict[str, Callable[[_Walk, Any, TypeNode], str]] = {
    "quantity": _Walk.quantity,
    "time": _Walk.time,
    "micro-time": _Walk.time,
    "int-or-string": _Walk.int_or_string,
    "any": _Walk.anything,
    "schema-or-bool": _Walk.schema_union,
    "schema-or-list": _Walk.schema_union,
    "schema-or-strings": _Walk.schema_union,
}
_JSON_TYPES: dict[str, Any] = {
    "string": str,
    "bytes": str,
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
}


def _complaint_of(convert: Callable[[str], Any], text: str) -> str:
    try:
        convert(text)
    except ValueError as error:
        return str(error)
    return ""


def _go_kind(value: Any) -> str:
    """Go's word for a JSON value in an UnmarshalTypeError."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Pairs):
        return "object"
    return "array" if isinstance(value, list) else "number"


def _spelled(value: Any, node: TypeNode) -> str:
    """The same, with the number itself where Go had to make a number of it."""
    kind = _go_kind(value)
    return f"number {_literal(value)}" if kind == "number" and node.type in ("integer", "number") else kind


def _literal(value: Any) -> str:
    return value.text if isinstance(value, NumberLiteral) else str(value)
