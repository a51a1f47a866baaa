"""Words with everything in them that begins with a dollar, split into fields as POSIX says (2.6)."""

from __future__ import annotations

import ast
import glob
import operator
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from kubelet_sim.shell.effects import Effect
from kubelet_sim.shell.tree import Arithmetic, Script, Substitution, Text, Variable, Word


class Context(Protocol):
    def value(self, name: str) -> str | None: ...

    def set(self, name: str, text: str) -> None: ...

    def output_of(self, script: Script) -> Generator[Effect, Any, str]: ...

    def matching(self, pattern: str) -> list[str]:
        """The names of files that a pattern stands for, in order."""
        ...


class ExpansionError(ValueError):
    """The text says what is wrong, as a shell does."""


Fields = Generator[Effect, Any, list[str]]
Expanded = Generator[Effect, Any, str]


def fields(words: Sequence[Word], context: Context) -> Fields:
    """The arguments that words become: none for one that is empty and not quoted, several for one with blanks."""
    found: list[str] = []
    for word in words:
        if (pattern := _pattern(word)) and (names := context.matching(pattern)):
            found += names
            continue
        current: str | None = None
        for part in word:
            text = yield from _part(part, context)
            if isinstance(part, Text) or part.is_quoted:
                if not part.is_quoted and not current and (text == "~" or text.startswith("~/")):
                    text = (context.value("HOME") or "/root") + text[1:]
                current = (current or "") + text
                continue
            pieces = text.split()
            if current is not None and (not pieces or text[:1].isspace()):
                found.append(current)
                current = None
            for piece in pieces[:-1]:
                found.append((current or "") + piece)
                current = None
            if pieces:
                current = (current or "") + pieces[-1]
                if text[-1:].isspace():
                    found.append(current)
                    current = None
        if current is not None:
            found.append(current)
    return found


def _pattern(word: Word) -> str:
    """A word that may stand for files: nothing in it but text, and a `*` or `?` that is not quoted. Else ""."""
    texts = [part for part in word if isinstance(part, Text)]
    if len(texts) < len(word) or not any("*" in one.text or "?" in one.text for one in texts if not one.is_quoted):
        return ""
    return "".join(glob.escape(one.text) if one.is_quoted else one.text for one in texts)


def joined(word: Word, context: Context) -> Expanded:
    """As one text: of assignments and redirects."""
    texts = []
    for part in word:
        texts.append((yield from _part(part, context)))
    return "".join(texts)


def _part(part: Text | Variable | Substitution | Arithmetic, context: Context) -> Expanded:
    match part:
        case Text(text):
            return text
        case Variable():
            return (yield from _variable(part, context))
        case Substitution(script):
            return (yield from context.output_of(script)).rstrip("\n")
        case Arithmetic(word):
            return str(calculate((yield from joined(word, context)), context))


def _variable(part: Variable, context: Context) -> Expanded:
    value, kind = context.value(part.name), part.operator
    if not kind:
        return value or ""
    if kind == "#len":
        return str(len(value or ""))
    is_missing = not value if kind.startswith(":") else value is None
    if kind[-1] in "-=?+":
        if is_missing == (kind[-1] == "+"):
            return value or "" if kind[-1] != "+" else ""
        word = yield from joined(part.word, context)
        if kind[-1] == "=":
            context.set(part.name, word)
        if kind[-1] == "?":
            raise ExpansionError(f"{part.name}: {word or 'parameter not set'}")
        return word
    pattern = yield from joined(part.word, context)
    return _trimmed(value or "", pattern, kind)


def _trimmed(text: str, pattern: str, kind: str) -> str:
    """`${x#p}` and its like; `*` and `?` stand for characters."""
    greedy = "*" if len(kind) == 2 else "*?"
    expression = "".join(f".{greedy}" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern[:100])
    if kind[0] == "#":
        found = re.match(expression, text, re.DOTALL)
        return text[found.end() :] if found else text
    starts = range(len(text) + 1) if len(kind) == 2 else range(len(text), -1, -1)
    at = next((i for i in starts if re.fullmatch(expression, text[i:], re.DOTALL)), len(text))
    return text[:at]


_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARED: dict[type, Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_WORD_BITS = 64


def calculate(expression: str, context: Context) -> int:
    """Integer sums in 64 bits with variables: `i + 1`, `n % 3 == 0`. Raises ExpansionError."""
    try:
        tree = ast.parse(expression.strip() or "0", mode="eval")
        return _wrapped(_number(tree.body, context))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpansionError(f"arithmetic syntax error: {expression.strip()!r}") from error


def _number(node: ast.expr, context: Context) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return int(value)
        case ast.Name(id=name):
            return int(context.value(name) or 0)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, context)
        case ast.BinOp(op=op, left=left, right=right):
            return _combined(op, _wrapped(_number(left, context)), _wrapped(_number(right, context)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return int(_COMPARED[type(op)](_number(left, context), _number(right, context)))
    raise ValueError(ast.dump(node))


def _combined(op: ast.operator, left: int, right: int) -> int:
    if isinstance(op, ast.Div | ast.Mod):
        if right == 0:
            raise ValueError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if isinstance(op, ast.Div) else left - quotient * right
    if type(op) not in _BINARY:
        raise ValueError(type(op).__name__)
    return _BINARY[type(op)](left, right)


def _wrapped(number: int) -> int:
    half = 1 << (_WORD_BITS - 1)
    return (number + half) % (2 * half) - half
