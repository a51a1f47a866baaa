"""CEL's text as tokens. Literals are read here: numbers, texts with their escapes, bytes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubeloop.cel.syntax import Problem, Problems
from kubeloop.cel.values import UInt

_TOKEN = re.compile(
    r"""(?P<space>[\s]+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>0x[0-9a-fA-F]+[uU]|\d+[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<quoted>`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_RAW_TEXT = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_GOOD_ESCAPE = r"""\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_WELL_ESCAPED = re.compile(rf"""[bB]?(["'])(?:{_GOOD_ESCAPE}|[^\\])*""", re.DOTALL)
# A text as far as it is one.
_BEGUN_ESCAPE = r"""(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?"""
_BEGUN_TEXT = re.compile(
    rf"""[bB]?(?:"(?:{_GOOD_ESCAPE}|[^"\\\n\r])*|'(?:{_GOOD_ESCAPE}|[^'\\\n\r])*){_BEGUN_ESCAPE}"""
    r"""|[bB]?[rR][bB]?(?:"[^"\n\r]*|'[^'\n\r]*)"""
)
_SHOWN = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
END = "<EOF>"
BEYOND = 1 << 400
_LONGEST_NUMBER = 100  # characters


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: ident, quoted, operator, end, or literal, whose value is `value`."""

    kind: str
    text: str
    position: int
    value: Any = None


def tokens(source: str) -> tuple[list[Token], list[Problem]]:
    """All tokens, the last of kind `end`, and what is none: that is left out. Raises CompileError."""
    problems: list[Problem] = []
    return list(_tokens(source, problems)), problems


def _tokens(source: str, problems: list[Problem]) -> Iterator[Token]:
    position = 0
    while position < len(source):
        match = _RAW_TEXT.match(source, position)
        kind = "text" if match else ""
        if match is None:
            match = _TOKEN.match(source, position)
            kind = (match.lastgroup or "") if match is not None else ""
        if match is None or (kind == "text" and not _is_well_escaped(match[0])):
            end = _where_stuck(source, position)
            shown = source[position:end].translate(_SHOWN)
            problems.append(Problem(position, f"Syntax error: token recognition error at: '{shown}'"))
            position = end
            continue
        text = match[0]
        if kind in ("ident", "operator", "quoted"):
            yield Token(kind, text.strip("`") if kind == "quoted" else text, position)
        elif kind != "space":
            yield Token("literal", text, position, _value(source, position, kind, text))
        position = match.end()
    yield Token("end", END, len(source))


def _is_well_escaped(text: str) -> bool:
    return "\\" not in text or _RAW_TEXT.fullmatch(text) is not None or _WELL_ESCAPED.fullmatch(text) is not None


def _where_stuck(source: str, start: int) -> int:
    """The end of what is no token: behind the character at which nothing fits any more."""
    if (begun := _BEGUN_TEXT.match(source, start)) is not None:
        return min(begun.end() + 1, len(source))
    return min(start + (2 if source[start] in "|&=" else 1), len(source))


def _value(source: str, position: int, kind: str, text: str) -> Any:
    match kind:
        case "float":
            return float(text)
        case "int":
            return _whole(text)
        case "uint":
            return UInt(_whole(text[:-1]))
        case _:
            return _text(source, position, text)


def _whole(text: str) -> int:
    """A whole number; of one with more digits than any type has room for, just that it is beyond them all."""
    if len(text) > _LONGEST_NUMBER:
        return BEYOND
    return int(text, 16) if text.startswith("0x") else int(text)


def _text(source: str, position: int, text: str) -> str | bytes:
    prefix = text[: re.search("[\"']", text).start()].lower()  # type: ignore[union-attr]
    body = text[len(prefix) :]
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[width:-width]
    if "r" not in prefix:
        body = _ESCAPE.sub(lambda match: _unescaped(source, position, match[1], "b" in prefix), body)
    return body.encode("latin-1" if "\\x" in text and "r" not in prefix else "utf-8") if "b" in prefix else body


def _unescaped(source: str, position: int, escape: str, is_bytes: bool) -> str:
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if escape in "\\\"'`?":
        return escape
    if len(escape) > 1:
        point = int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
        if point > sys.maxunicode or 0xD800 <= point < 0xE000:
            raise Problems(source, [Problem(position, "invalid unicode code point")])
        return chr(point)
    what = "bytes" if is_bytes else "string"
    raise Problems(source, [Problem(position, f"Syntax error: invalid {what} literal: unable to unescape string")])
