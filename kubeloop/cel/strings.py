"""The string extension of CEL (ext.Strings, version 2)."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.field import GO_ESCAPES
from kubeloop.cel.formatting import formatted
from kubeloop.cel.functions import Library, function, library
from kubeloop.cel.values import EvaluationError


def _checked(index: int, text: str) -> int:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return index


def _character(text: str, index: int) -> str:
    return text[_checked(index, text) : index + 1]


def _index(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    return text.find(part, _begun(start))


def _last_index(text: str, part: str, start: int | None = None) -> int:
    """The last place at or before `start` where the part is; -1 also where that is beyond the end."""
    if start is None:
        return text.rfind(part)
    if not part:
        return start
    return text.rfind(part, 0, start + len(part)) if _begun(start) < len(text) else -1


def _begun(start: int) -> int:
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return start


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
    for part in parts:
        if not isinstance(part, str):
            raise EvaluationError(f"join: invalid input: {part}")
    return separator.join(parts)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)


def _upper(text: str) -> str:
    return text.upper() if text.isascii() else "".join(c.upper() if c.isascii() else c for c in text)


def _quote(text: str) -> str:
    return '"' + "".join(GO_ESCAPES.get(c, c) for c in text) + '"'


STRINGS: Library = library(
    function("charAt", _character, "string.(int) string"),
    function("format", formatted, "string.(list(dyn)) string"),
    function("indexOf", _index, "string.(string) int", "string.(string, int) int"),
    function("lastIndexOf", _last_index, "string.(string) int", "string.(string, int) int"),
    function("join", _join, "list(string).() string", "list(string).(string) string"),
    function("lowerAscii", _lower, "string.() string"),
    function("upperAscii", _upper, "string.() string"),
    function("replace", _replace, "string.(string, string) string", "string.(string, string, int) string"),
    function("split", _split, "string.(string) list(string)", "string.(string, int) list(string)"),
    function("substring", _substring, "string.(int) string", "string.(int, int) string"),
    function("trim", lambda text: text.strip(), "string.() string"),
    function("strings.quote", _quote, "(string) string"),
)
