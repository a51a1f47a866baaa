"""`"%d of %s".format([1, "x"])`: format strings and what their clauses make of values.

Facts: github.com/google/cel-go ext/formatting.go (v0.26, version 2 of the string extension). Numbers are
those of no language in particular, as Go's x/text writes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubeloop.apimachinery.field import go_quote
from kubeloop.cel.standard import to_string
from kubeloop.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, TYPE, UINT, Type
from kubeloop.cel.values import EvaluationError, TypeValue, type_name

DEFAULT_PRECISION = 6
_CLAUSE = re.compile(r"(?:\.(\d*))?(.)?", re.DOTALL)
_SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_SPECIAL_NUMBERS = ("NaN", "Infinity", "-Infinity")
_INTEGERS, _DOUBLES = (INT, UINT), (DOUBLE, STRING)
_SHOWABLE = (INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, TYPE, NULL, Type("list"), Type("map"))

# Verb -> the types it takes, and what it says of others.
VERBS: Mapping[str, tuple[Sequence[Type], str]] = {
    "s": (
        _SHOWABLE,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps",
    ),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (_DOUBLES, "fixed-point clause can only be used on doubles"),
    "e": (_DOUBLES, "scientific clause can only be used on doubles"),
    "b": ((INT, UINT, BOOL), "only integers and bools can be formatted as binary"),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
    "x": ((INT, UINT, STRING, BYTES), "only integers, byte buffers, and strings can be formatted as hex"),
}


class FormatError(EvaluationError):
    """A format string or an argument that is no good."""


@dataclass(frozen=True, slots=True)
class Clause:
    """`%.2f`: verbs are told apart without their case, which `is_upper` keeps."""

    verb: str
    precision: int
    is_upper: bool


def parts(text: str, available: int) -> Iterator[str | Clause]:
    """The pieces of a format string, for so many arguments. Raises FormatError where it is reached."""
    i = used = 0
    while i < len(text):
        if text[i] != "%":
            end = text.find("%", i)
            end = len(text) if end < 0 else end
            yield text[i:end]
            i = end
        elif text[i + 1 : i + 2] == "%":
            yield "%"
            i += 2
        else:
            if i + 1 >= len(text):
                raise FormatError("unexpected end of string")
            if used >= available:
                raise FormatError(f"index {used} out of range")
            clause, i = _clause(text, i + 1)
            yield clause
            used += 1


def _clause(text: str, start: int) -> tuple[Clause, int]:
    match = _CLAUSE.match(text, start)
    assert match is not None, "everything in it may be absent"
    digits, verb = match[1], match[2]
    why = ""
    if digits is not None and verb is None:
        why = "error while parsing precision: could not find end of precision specifier"
    elif digits == "":
        parsing = 'strconv.Atoi: parsing "": invalid syntax'
        why = f"error while parsing precision: error while converting precision to integer: {parsing}"
    elif verb not in VERBS and verb != "X":
        why = f'unrecognized formatting clause "{verb}"'
    if why:
        raise FormatError(f"could not parse formatting clause: {why}")
    return Clause(verb.lower(), int(digits) if digits else DEFAULT_PRECISION, verb == "X"), match.end()


def unfit(clause: Clause, found: str) -> str:
    """What a clause says of a value of another type."""
    return f"error during formatting: {VERBS[clause.verb][1]}, was given {found}"


def takes(clause: Clause, type_: Type) -> bool:
    """Whether a clause may be given values of a type."""
    return type_ == DYN or any(type_.name == wanted.name for wanted in VERBS[clause.verb][0])


def formatted(text: str, arguments: Sequence[Any]) -> str:
    """The string with its clauses replaced. Raises FormatError."""
    remaining = iter(arguments)
    return "".join(
        part if isinstance(part, str) else _written(part, next(remaining)) for part in parts(text, len(arguments))
    )


def _written(clause: Clause, value: Any) -> str:
    writer = _WRITERS[clause.verb]
    text = writer(clause, value)
    if text is None:
        raise FormatError(unfit(clause, type_name(value)))
    return text.upper() if clause.is_upper else text


def _decimal(clause: Clause, value: Any) -> str | None:
    return str(int(value)) if _is_integer(value) else None


def _fixed(clause: Clause, value: Any) -> str | None:
    number = _double(value)
    return None if number is None else _unusual(number) or f"{number:,.{clause.precision}f}"


def _scientific(clause: Clause, value: Any) -> str | None:
    number = _double(value)
    if number is None:
        return None
    if text := _unusual(number):
        return text
    mantissa, _, exponent = f"{number:.{clause.precision}e}".partition("e")
    sign = "⁻" if exponent.startswith("-") else ""
    return f"{mantissa}×10{sign}{exponent.lstrip('+-').translate(_SUPERSCRIPTS)}"


def _binary(clause: Clause, value: Any) -> str | None:
    return f"{int(value):b}" if isinstance(value, int) else None


def _octal(clause: Clause, value: Any) -> str | None:
    return f"{int(value):o}" if _is_integer(value) else None


def _hex(clause: Clause, value: Any) -> str | None:
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return value.hex()
    return f"{int(value):x}" if _is_integer(value) else None


def _text(clause: Clause, value: Any) -> str | None:
    return _shown(value)


_WRITERS: Mapping[str, Callable[[Clause, Any], str | None]] = {
    "s": _text,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
}


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _double(value: Any) -> float | None:
    if isinstance(value, float):
        return value
    return float(value) if value in _SPECIAL_NUMBERS else None


def _unusual(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "" if math.isfinite(number) else "∞" if number > 0 else "-∞"


def _shown(value: Any) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, Mapping):
        entries = sorted((_inner_key(key), _inner(inner)) for key, inner in value.items())
        return "{" + ", ".join(f"{key}:{inner}" for key, inner in entries) + "}"
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, bool | int | float | str | bytes | datetime | timedelta):
        return to_string(value)
    return None


def _inner_key(key: Any) -> str:
    if isinstance(key, str | bool | int):
        return _inner(key)
    raise FormatError(f"error during formatting: no formatting function for map key of type {type_name(key)}")


def _inner(value: Any) -> str:
    """A value within a list or map: as a literal of CEL."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bytes):
        return f"b{go_quote(to_string(value))}"
    if isinstance(value, datetime):
        return f"timestamp({go_quote(to_string(value))})"
    if isinstance(value, timedelta):
        return f"duration({go_quote(to_string(value))})"
    if isinstance(value, float):
        if math.isfinite(value):
            return f"{value:.{DEFAULT_PRECISION}f}"
        return '"NaN"' if math.isnan(value) else '"+Inf"' if value > 0 else '"-Inf"'
    text = _shown(value)
    if text is None:
        raise FormatError(f"error during formatting: no formatting function for {type_name(value)}")
    return text
