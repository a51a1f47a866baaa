"""JSON text as Go reads it: fast where it is sound, and with encoding/json's own complaints where it is not.

`parse` is what request bodies and patches go through. `NumberLiteral` keeps how a fraction was spelled, `Pairs` keeps
repeated keys: both are for the second, slower look at a body in which something was wrong.
"""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from apiserver.schema.json_syntax import TOO_DEEP, complaint
from kubeloop.apimachinery.depth import is_too_deep, may_be_too_deep


class JsonSyntaxError(ValueError):
    """The text is not JSON; the message is encoding/json's."""


class NumberLiteral(float):
    """A number with a fraction or an exponent, and how it was spelled."""

    text: str

    @classmethod
    def of(cls, text: str) -> NumberLiteral:
        number = cls(text)
        number.text = text
        return number

    @classmethod
    def parse(cls, raw: bytes) -> Any:
        """JSON whose floats are NumberLiterals."""
        return json.loads(raw.decode("utf-8", errors="replace"), parse_float=cls.of)

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """`value` with its floats as NumberLiterals, spelled as shortly as they can be."""
        if isinstance(value, cls):
            return value
        if isinstance(value, float):
            return cls.of(str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value))
        if isinstance(value, dict):
            return {key: cls.spelled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [cls.spelled(item) for item in value]
        return value


class Pairs(list[tuple[str, Any]]):
    """An object as the pairs of its text, repeated keys included."""


def parse(raw: bytes) -> Any:
    """The value of a JSON text; JsonSyntaxError in Go's words where it is none."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_leniently(raw)
    if may_be_too_deep(raw) and is_too_deep(value):
        raise JsonSyntaxError(complaint(raw) or TOO_DEEP)
    return value


def _parse_leniently(raw: bytes) -> Any:
    """What Go accepts and orjson does not: invalid UTF-8 and lone surrogates, which become U+FFFD."""
    if (problem := complaint(raw)) is not None:
        raise JsonSyntaxError(problem)
    text = raw.decode("utf-8", errors="replace")
    return _without_surrogates(json.loads(text, parse_int=_integer, parse_float=_float))


def _integer(text: str) -> int | float:
    """As orjson has it: what 64 bits cannot hold is a float."""
    number = int(text) if len(text) < 25 else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else _float(text)


def _float(text: str) -> float:
    """Refused where it is beyond all floats, whatever type it is meant for."""
    number = float(text)
    if math.isinf(number):
        raise JsonSyntaxError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def parse_pairs(raw: bytes) -> Any:
    """The value of a sound JSON text with objects as Pairs and fractions as NumberLiterals."""
    text = raw.decode("utf-8", errors="replace")
    return json.loads(text, object_pairs_hook=Pairs, parse_float=NumberLiteral.of)


def pairs_of(value: Any) -> Any:
    """A parsed value in the form `parse_pairs` gives, for callers that have no text any more."""
    if isinstance(value, dict):
        return Pairs((key, pairs_of(item)) for key, item in value.items())
    if isinstance(value, list):
        return [pairs_of(item) for item in value]
    return NumberLiteral.spelled(value)


def has_duplicate_keys(raw: bytes, value: Any) -> bool:
    """Whether an object in `raw`, which `value` was parsed from, names a key twice.

    A text without repeated keys has exactly the colons of its value written again. Colons inside strings are counted
    on both sides; only escaped ones would upset the count, so then the keys are really looked at.
    """
    if b"\\u003" not in raw:
        return raw.count(b":") != orjson.dumps(value).count(b":")
    return bool(duplicates(raw))


def in_key_order(value: Any) -> Any:
    """A copy with the keys of all objects sorted, as Go writes maps."""
    if isinstance(value, dict):
        return {key: in_key_order(value[key]) for key in sorted(value)}
    return [in_key_order(item) for item in value] if isinstance(value, list) else value


def duplicates(raw: bytes) -> list[str]:
    """The paths of all repeated keys of a sound JSON text, in the order of their repetition."""
    return duplicates_in(parse_pairs(raw), "")


def duplicates_in(value: Any, path: str) -> list[str]:
    """The same for a value that `parse_pairs` made and that stands at `path`."""
    found: dict[str, None] = {}
    _collect_duplicates(value, path, found)
    return list(found)


def _collect_duplicates(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found[below] = None
            seen.add(key)
            _collect_duplicates(item, below, found)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _collect_duplicates(item, f"{path}[{i}]", found)
