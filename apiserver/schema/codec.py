"""The codec of one kind: what a real API server makes of a JSON value when it decodes it into Go and writes it again.

`Codec.decode` checks every value's JSON type, drops fields the kind does not know and values Go would leave out
(omitempty, omitzero), adds what Go always writes (`resources: {}` of a container), and brings quantities, times and
base64 text into their usual spelling. It is on the path of every write, so it is one pass of closures that are
compiled from TypeNodes on first use. That pass only notices that something is wrong; `explanation` then walks the same
value again, as slowly as it likes, to say what in Go's words.

The result shares no list or map of a known type with its input; values of type `any` are passed on as they are.
Defaults and validation belong to the strategies in `apiserver.resources`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.schema.explanation import DecodeError, explain
from apiserver.schema.json_syntax import TOO_DEEP
from apiserver.schema.json_text import NumberLiteral, has_duplicate_keys, parse_pairs
from apiserver.schema.nodes import Omit, TypeNode
from apiserver.schema.repeated_keys import merged
from apiserver.schema.scalars import base64_text, micro_time_text, quantity_text, time_text

__all__ = ["Codec", "Compiler", "DecodeError", "Decoded"]

Object = dict[str, Any]
# Unknown keys are appended to the list; their paths are worked out afterwards, where there are any.
Decode = Callable[[Any, list[str]], Any]
Zero = Callable[[], Any]

_INTEGER_BITS = {"int32": 31, "int64": 63, "uint8": 8}
_OMITTED: Any = object()  # what a field's decoder returns for a value Go would not write


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded object, and what strict field validation has against it, in the real server's words and order."""

    object: Object
    problems: Sequence[str] = ()  # 'unknown field "spec.foo"', 'duplicate field "data.k"'

    @property
    def unknown(self) -> list[str]:
        """The paths of the unknown fields."""
        prefix = 'unknown field "'
        return [problem[len(prefix) : -1] for problem in self.problems if problem.startswith(prefix)]


class Codec:
    """Decodes values of one type."""

    def __init__(self, node: TypeNode, compiler: Compiler) -> None:
        self.node = node
        self._decode = compiler.decoder(node)

    def decode(self, value: Any, *, raw: bytes = b"") -> Decoded:
        """`value` as the real server would store it. Raises DecodeError.

        `raw` is the JSON text that `value` was parsed from. Only it tells which keys were repeated and how numbers
        were spelled, which errors (`number 1.0`) and quantities given as fractions need.
        """
        try:
            if raw and has_duplicate_keys(raw, value):
                return self._decode_exactly(merged(parse_pairs(raw), self.node), raw)
            return self._decode_quickly(value, raw)
        except RecursionError:
            raise DecodeError(TOO_DEEP) from None

    def _decode_quickly(self, value: Any, raw: bytes) -> Decoded:
        unknown: list[str] = []
        try:
            decoded = self._decode(value, unknown)
        except _Mismatch:
            # An error after all, or a fraction that stands for a quantity.
            return self._decode_exactly(NumberLiteral.parse(raw) if raw else NumberLiteral.spelled(value), raw)
        return Decoded(decoded, explain(self.node, value, raw) if unknown else ())

    def _decode_exactly(self, literal: Any, raw: bytes) -> Decoded:
        """Fails in Go's words or decodes a value whose numbers keep their spelling."""
        problems = explain(self.node, literal, raw)
        return Decoded(self._decode(literal, []), problems)


class _Mismatch(Exception):
    """A value is not of its type; which one, and how to say so, is for `explain` to find out."""


class Compiler:
    """Makes decoders of nodes; one for a schema, so that kinds share the decoders of the structs they share."""

    def __init__(self) -> None:
        self._structs: dict[str, _Struct] = {}

    def decoder(self, node: TypeNode) -> Decode:
        """The decoder of a value that is there and may be null, which means its zero value."""
        match node.type:
            case "object":
                return self._struct(node).decode
            case "list" if node.items is not None:
                return _list(self.decoder(node.items))
            case "map" if node.values is not None:
                return _map(self.decoder(node.values)) if node.values.type != "string" else _map_of_strings
            case "schema-or-bool" | "schema-or-list" | "schema-or-strings" if node.items is not None:
                return _schema_or_other(node.type, self.decoder(node.items))
            case "integer":
                return _integer(_INTEGER_BITS.get(node.format or node.go_type, 63))
            case _:
                return _SCALARS[node.type]

    def zero(self, node: TypeNode) -> Zero:
        """Makes what Go writes for the zero value of a type."""
        if node.is_pointer or node.type in ("list", "map"):
            return _null
        if node.type == "object":
            return self._struct(node).zero
        value = _ZEROES.get(node.type)
        return lambda: value

    def field(self, node: TypeNode) -> Decode:
        """The decoder of a field, which returns _OMITTED for what Go would not write."""
        decode = self.decoder(node)
        if node.is_pointer or (node.type == "bytes" and node.omit is Omit.NEVER):
            return _unless_null(decode)
        if node.omit is Omit.ZERO:
            return _unless_zero(decode, self.zero(node))
        if node.type in ("list", "map"):
            return _unless_empty(decode)
        if node.is_go_value or node.omit is Omit.NEVER:
            return decode
        return _string_unless_empty if node.type == "string" else _unless_empty(decode)

    def always_written(self, node: TypeNode) -> bool:
        """Whether JSON shows the field even where nothing was sent."""
        return node.omit is Omit.NEVER or (node.omit is Omit.EMPTY and node.is_go_value)

    def _struct(self, node: TypeNode) -> _Struct:
        # Structs written in place (custom resources) have no name to share them by.
        if not node.name:
            return _Struct(node, self)
        if node.name not in self._structs:
            self._structs[node.name] = _Struct(node, self)
        return self._structs[node.name]


class _Struct:
    """The decoder of an object with known fields; its table is made when the first such object comes by."""

    def __init__(self, node: TypeNode, compiler: Compiler) -> None:
        self._node = node
        self._compiler = compiler
        self._decoders: dict[str, Decode] = {}
        self._always: list[tuple[str, Zero]] = []
        self._is_compiled = False

    def decode(self, value: Any, unknown: list[str]) -> Object:
        if type(value) is not dict:
            if value is not None:
                raise _Mismatch
            value = {}
        if not self._is_compiled:
            self._compile()
        decoders = self._decoders
        decoded = {}
        for key, item in value.items():
            decode = decoders.get(key)
            if decode is None:
                unknown.append(key)
                continue
            item = decode(item, unknown)
            if item is not _OMITTED:
                decoded[key] = item
        for key, zero in self._always:
            if key not in decoded:
                decoded[key] = zero()
        return decoded

    def zero(self) -> Object:
        return self.decode(None, [])

    def _compile(self) -> None:
        compiler = self._compiler
        for key, node in self._node.fields.items():
            self._decoders[key] = compiler.field(node)
            if compiler.always_written(node):
                self._always.append((key, compiler.zero(node)))
        self._is_compiled = True


def _null() -> None:
    return None


def _unless_null(decode: Decode) -> Decode:
    return lambda value, unknown: _OMITTED if value is None else decode(value, unknown)


def _unless_zero(decode: Decode, zero: Zero) -> Decode:
    def field(value: Any, unknown: list[str]) -> Any:
        decoded = decode(value, unknown)
        return _OMITTED if decoded == zero() else decoded

    return field


def _unless_empty(decode: Decode) -> Decode:
    return lambda value, unknown: decode(value, unknown) or _OMITTED


def _string_unless_empty(value: Any, unknown: list[str]) -> Any:
    if type(value) is str:
        return value or _OMITTED
    if value is None:
        return _OMITTED
    raise _Mismatch


def _list(decode: Decode) -> Decode:
    def decode_list(value: Any, unknown: list[str]) -> Any:
        if type(value) is list:
            return [decode(item, unknown) for item in value]
        if value is None:
            return None
        raise _Mismatch

    return decode_list


def _map(decode: Decode) -> Decode:
    def decode_map(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return {key: decode(item, unknown) for key, item in value.items()}
        if value is None:
            return None
        raise _Mismatch

    return decode_map


def _map_of_strings(value: Any, unknown: list[str]) -> Any:
    if type(value) is not dict:
        if value is None:
            return None
        raise _Mismatch
    for item in value.values():
        if type(item) is not str:
            return {key: _string(item, unknown) for key, item in value.items()}
    return value.copy()


def _string(value: Any, unknown: list[str]) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise _Mismatch


def _boolean(value: Any, unknown: list[str]) -> bool:
    if type(value) is bool:
        return value
    if value is None:
        return False
    raise _Mismatch


def _integer(bits: int) -> Decode:
    highest = (1 << bits) - 1
    lowest = 0 if bits == 8 else -highest - 1

    def decode_integer(value: Any, unknown: list[str]) -> int:
        if type(value) is int and lowest <= value <= highest:
            return value
        if value is None:
            return 0
        raise _Mismatch

    return decode_integer


def _number(value: Any, unknown: list[str]) -> float | int:
    if type(value) is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else float(value)
    if value is None:
        return 0
    raise _Mismatch


def _int_or_string(value: Any, unknown: list[str]) -> str | int:
    return value if type(value) is str else _int32(value, unknown)


_int32 = _integer(31)


def _quantity(value: Any, unknown: list[str]) -> str:
    if type(value) is NumberLiteral:
        value = value.text
    elif type(value) is int:
        value = str(value)
    elif type(value) is not str:
        if value is None:
            return "0"
        raise _Mismatch  # a float among them: how it was spelled decides, which the second try will know
    return _or_mismatch(quantity_text, value)


def _time(value: Any, unknown: list[str]) -> str | None:
    if value is None:
        return None
    return _or_mismatch(time_text, value)


def _micro_time(value: Any, unknown: list[str]) -> str | None:
    if value is None:
        return None
    return _or_mismatch(micro_time_text, value)


def _bytes(value: Any, unknown: list[str]) -> str:
    return "" if value is None else _or_mismatch(base64_text, value)


def _any(value: Any, unknown: list[str]) -> Any:
    return value


def _schema_or_other(kind: str, schema: Decode) -> Decode:
    """JSONSchemaProps' own unions: unknown fields below them are dropped in silence, for their decoder is lenient."""

    def decode_union(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return schema(value, [])
        if kind == "schema-or-bool":
            if type(value) is bool:
                return value
            raise _Mismatch
        if type(value) is list:
            decode = schema if kind == "schema-or-list" else _string
            return [decode(item, []) for item in value] or None
        return None

    return decode_union


def _or_mismatch(convert: Callable[[str], Any], value: Any) -> Any:
    if type(value) is not str:
        raise _Mismatch
    try:
        return convert(value)
    except ValueError:
        raise _Mismatch from None


_SCALARS: dict[str, Decode] = {
    "string": _string,
    "boolean": _boolean,
    "number": _number,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "micro-time": _micro_time,
    "bytes": _bytes,
    "any": _any,
}
_ZEROES: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "quantity": "0",
    "int-or-string": 0,
}
