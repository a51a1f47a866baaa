"""Regular expressions as Go reads them (RE2), compiled with Python's `re`: what Go refuses is refused in its words.

Differences that are translated: classes are ASCII, `$` is the end of the text and not also the line break before it,
POSIX classes (`[[:alpha:]]`) and `\\z` are known, look-around and back-references are not.
"""

from __future__ import annotations

import re
from functools import lru_cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PERL_ONLY = ("(?=", "(?!", "(?<=", "(?<!", "(?>", "(?#")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w+):\]")


class PatternError(ValueError):
    """Go's `error parsing regexp: …`."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled expression; PatternError where Go would not compile it."""
    translated = _translate(pattern)
    try:
        return re.compile(translated, re.ASCII)
    except re.error as error:
        raise PatternError(f"error parsing regexp: {_reason(error, pattern)}") from error


def _translate(pattern: str) -> str:
    parts: list[str] = []
    in_class = False
    i = 0
    while i < len(pattern):
        character = pattern[i]
        if character == "\\" and i + 1 < len(pattern):
            parts.append(_escape(pattern[i : i + 2]))
            i += 2
            continue
        if in_class:
            posix = _POSIX_CLASS.match(pattern, i)
            if posix and posix[2] in _POSIX and not posix[1]:
                parts.append(_POSIX[posix[2]])
                i = posix.end()
                continue
            in_class = character != "]"
            # Python would take a bracket in a class for the beginning of set operations to come.
            parts.append("\\[" if character == "[" else character)
        elif character == "[":
            in_class = True
            parts.append(character)
            for opening in ("^", "]"):
                if pattern[i + 1 : i + 2] == opening:
                    parts.append(opening)
                    i += 1
        elif character == "(" and (perl := next((p for p in _PERL_ONLY if pattern.startswith(p, i)), "")):
            raise PatternError(f"error parsing regexp: invalid or unsupported Perl syntax: `{perl}`")
        else:
            parts.append("\\Z" if character == "$" else character)
        i += 1
    return "".join(parts)


def _escape(pair: str) -> str:
    if pair == "\\z":
        return "\\Z"
    if pair == "\\Z" or pair[1] in "123456789":
        raise PatternError(f"error parsing regexp: invalid escape sequence: `{pair}`")
    return pair


def _reason(error: re.error, pattern: str) -> str:
    position = error.pos or 0
    match error.msg.split(" at position")[0]:
        case "unterminated character set":
            return f"missing closing ]: `{pattern[pattern.rfind('[', 0, position + 1) :]}`"
        case "missing ), unterminated subpattern":
            return f"missing closing ): `{pattern}`"
        case "unbalanced parenthesis":
            return f"unexpected ): `{pattern}`"
        case "nothing to repeat":
            return f"missing argument to repetition operator: `{pattern[position : position + 1]}`"
        case "multiple repeat":
            return f"invalid nested repetition operator: `{pattern[max(position - 1, 0) : position + 1]}`"
        case "bad escape (end of pattern)":
            return "trailing backslash at end of expression: ``"
        case message if message.startswith("bad escape"):
            return f"invalid escape sequence: `{message.removeprefix('bad escape ')}`"
        case message if message.startswith("bad character range"):
            return f"invalid character class range: `{message.removeprefix('bad character range ')}`"
        case message if message.startswith("min repeat"):
            return f"invalid repeat count: `{pattern[pattern.rfind('{', 0, position + 1) :]}`"
        case message:
            return f"{message}: `{pattern}`"
