"""The string extension of CEL (ext.Strings, version 2), with format()."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from apiserver.cel.functions import Library, function, library
from apiserver.cel.standard import to_string
from apiserver.cel.values import EvaluationError, type_name
from kubeloop.apimachinery.field import GO_ESCAPES


def _checked(index: int, text: str) -> int:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return index


def _character(text: str, index: int) -> str:
    return text[_checked(index, text) : index + 1]


def _index(text: str, part: str, start: int = 0) -> int:
    return text.find(part, _checked(start, text))


def _last_index(text: str, part: str, end: int | None = None) -> int:
    if end is None:
        return text.rfind(part)
    return text.rfind(part, 0, _checked(end, text) + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[_checked(start, text) : len(text) if end is None else _checked(end, text)]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if limit < 0 or len(parts) <= limit else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1) if limit != 1 else [text]


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _join(parts: list[Any], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise EvaluationError("no such overload")
    return separator.join(parts)


def _lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def _upper(text: str) -> str:
    return "".join(c.upper() if c.isascii() else c for c in text)


def _quote(text: str) -> str:
    return '"' + "".join(GO_ESCAPES.get(c, c) for c in text) + '"'


def _format(text: str, arguments: list[Any]) -> str:
    """`"%d of %s".format([1, "x"])`."""
    parts: list[str] = []
    i, used = 0, 0
    while i < len(text):
        if text[i] != "%":
            parts.append(text[i])
            i += 1
            continue
        i += 1
        if text[i : i + 1] == "%":
            parts.append("%")
            i += 1
            continue
        digits = ""
        if text[i : i + 1] == ".":
            i += 1
            while text[i : i + 1].isdigit():
                digits += text[i]
                i += 1
        if i >= len(text):
            raise EvaluationError("unexpected end of string")
        if used >= len(arguments):
            raise EvaluationError(f"index {used} out of range")
        parts.append(_formatted(text[i], arguments[used], int(digits or 6)))
        i, used = i + 1, used + 1
    return "".join(parts)


def _formatted(verb: str, value: Any, precision: int) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match verb:
        case "s":
            return _shown(value)
        case "d" if isinstance(value, int) and is_number:
            return str(int(value))
        case "f" if is_number:
            return _finite(value) or f"{value:.{precision}f}"
        case "e" if is_number:
            return _finite(value) or f"{value:.{precision}e}"
        case "b" if isinstance(value, int):
            return f"{int(value):b}"
        case "o" if isinstance(value, int) and is_number:
            return f"{value:o}"
        case "x" | "X" if isinstance(value, int | str | bytes) and not isinstance(value, bool):
            raw = value.encode() if isinstance(value, str) else value
            shown = raw.hex() if isinstance(raw, bytes) else f"{raw:x}"
            return shown.upper() if verb == "X" else shown
        case "s" | "d" | "f" | "e" | "b" | "o" | "x" | "X":
            raise EvaluationError(f"error during formatting: {_WRONG[verb]}, was given {type_name(value)}")
        case _:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')


_WRONG = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}


def _finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "" if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(_inner(element) for element in value)}]"
    if isinstance(value, Mapping):
        shown = sorted((_inner(key), _inner(part)) for key, part in value.items())
        return "{" + ", ".join(f"{key}: {part}" for key, part in shown) + "}"
    return to_string(value)


def _inner(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, datetime):
        return f'timestamp("{to_string(value)}")'
    return f'duration("{to_string(value)}")' if isinstance(value, timedelta) else _shown(value)


STRINGS: Library = library(
    function("charAt", _character, "string.(int) string"),
    function("format", _format, "string.(list(dyn)) string"),
    function("indexOf", _index, "string.(string) int", "string.(string, int) int"),
    function("lastIndexOf", _last_index, "string.(string) int", "string.(string, int) int"),
    function("join", _join, "list(string).() string", "list(string).(string) string"),
    function("lowerAscii", _lower, "string.() string"),
    function("upperAscii", _upper, "string.() string"),
    function("replace", _replace, "string.(string, string) string", "string.(string, string, int) string"),
    function("split", _split, "string.(string) list(string)", "string.(string, int) list(string)"),
    function("substring", _substring, "string.(int) string", "string.(int, int) string"),
    function("trim", lambda text: text.strip(), "string.() string"),
    function("reverse", lambda text: text[::-1], "string.() string"),
    function("strings.quote", _quote, "(string) string"),
)
