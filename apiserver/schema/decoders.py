"""Decoders of single types: closures that turn a JSON value into what Go would write for it, or raise Mismatch.

`compiler` puts them together for structs; they know nothing of fields and paths. A decoder is called for every value
of every write, so each is as plain as it can be, and a mismatch carries no words: `explanation` finds them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from apiserver.schema.json_text import NumberLiteral
from apiserver.schema.scalars import base64_text, micro_time_text, quantity_text, time_text

# Unknown keys are appended to the list; their paths are worked out afterwards, where there are any.
Decode = Callable[[Any, list[str]], Any]
DecodeChanged = Callable[[Any, dict[str, Any], list[str]], Any]  # of another object, some of whose fields it has
Zero = Callable[[], Any]

OMITTED: Any = object()  # what a field's decoder returns for a value Go would not write


class Mismatch(Exception):
    """A value is not of its type; which one, and how to say so, is for `explanation` to find out."""


def null() -> None:
    return None


def unless_null(decode: Decode) -> Decode:
    return lambda value, unknown: OMITTED if value is None else decode(value, unknown)


def unless_zero(decode: Decode, zero: Zero) -> Decode:
    def field(value: Any, unknown: list[str]) -> Any:
        decoded = decode(value, unknown)
        return OMITTED if decoded == zero() else decoded

    return field


def unless_empty(decode: Decode) -> Decode:
    return lambda value, unknown: decode(value, unknown) or OMITTED


def string_unless_empty(value: Any, unknown: list[str]) -> Any:
    if type(value) is str:
        return value or OMITTED
    if value is None:
        return OMITTED
    raise Mismatch


def list_of(decode: Decode) -> Decode:
    def decode_list(value: Any, unknown: list[str]) -> Any:
        if type(value) is list:
            return [decode(item, unknown) for item in value]
        if value is None:
            return None
        raise Mismatch

    return decode_list


def map_of(decode: Decode) -> Decode:
    def decode_map(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return {key: decode(item, unknown) for key, item in value.items()}
        if value is None:
            return None
        raise Mismatch

    return decode_map


def map_of_strings(value: Any, unknown: list[str]) -> Any:
    if type(value) is not dict:
        if value is None:
            return None
        raise Mismatch
    for item in value.values():
        if type(item) is not str:
            return {key: _string(item, unknown) for key, item in value.items()}
    return value.copy()


def _string(value: Any, unknown: list[str]) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise Mismatch


def _boolean(value: Any, unknown: list[str]) -> bool:
    if type(value) is bool:
        return value
    if value is None:
        return False
    raise Mismatch


def integer(bits: int) -> Decode:
    highest = (1 << bits) - 1
    lowest = 0 if bits == 8 else -highest - 1

    def decode_integer(value: Any, unknown: list[str]) -> int:
        if type(value) is int and lowest <= value <= highest:
            return value
        if value is None:
            return 0
        raise Mismatch

    return decode_integer


def _number(value: Any, unknown: list[str]) -> float | int:
    if type(value) is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else float(value)
    if value is None:
        return 0
    raise Mismatch


def _int_or_string(value: Any, unknown: list[str]) -> str | int:
    return value if type(value) is str else _int32(value, unknown)


_int32 = integer(31)


def _quantity(value: Any, unknown: list[str]) -> str:
    if type(value) is NumberLiteral:
        value = value.text
    elif type(value) is int:
        value = str(value)
    elif type(value) is not str:
        if value is None:
            return "0"
        raise Mismatch  # a float among them: how it was spelled decides, which the second try will know
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
    if type(value) is list:  # to Go they are a list of small numbers, and may be sent as one
        return b64encode(bytes(_uint8(item, unknown) for item in value)).decode()
    return "" if value is None else _or_mismatch(base64_text, value)


_uint8 = integer(8)


def _any(value: Any, unknown: list[str]) -> Any:
    return value


def schema_or_other(kind: str, schema: Decode) -> Decode:
    """JSONSchemaProps' own unions: unknown fields below them are dropped in silence, for their decoder is lenient."""

    def decode_union(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return schema(value, [])
        if kind == "schema-or-bool":
            if type(value) is bool:
                return value
            raise Mismatch
        if type(value) is list:
            decode = schema if kind == "schema-or-list" else _string
            return [decode(item, []) for item in value] or None
        return None

    return decode_union


def _or_mismatch(convert: Callable[[str], Any], value: Any) -> Any:
    if type(value) is not str:
        raise Mismatch
    try:
        return convert(value)
    except ValueError:
        raise Mismatch from None


SCALARS: dict[str, Decode] = {
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
ZEROES: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "quantity": "0",
    "int-or-string": 0,
}
