"""The syntax tree of CEL: what the parser makes, the checker annotates and the compiler turns into functions.

Comprehensions stay what they were written as (`Macro`) instead of becoming folds: shorter to check, quicker to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeloop.cel.types import DYN, Type


@dataclass(slots=True)
class Node:
    """`position` is an offset into the text; `type` is the checker's finding."""

    position: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True)
class Literal(Node):
    value: Any


@dataclass(slots=True)
class Ident(Node):
    """`written` is the name with the dot that may stand before it."""

    name: str
    written: str = ""


@dataclass(slots=True)
class Select(Node):
    """`operand.name`, `operand.?name`, or within has(); `key` is the name as the value has it, without escapes."""

    operand: Node
    name: str
    is_test: bool = False
    is_optional: bool = False
    key: str = field(default="", init=False)
    variable: str = field(default="", init=False)  # set by the checker where the dots belong to a variable's name

    def __post_init__(self) -> None:
        self.key = self.name


@dataclass(slots=True)
class Call(Node):
    """A function, method (with `target`) or operator (`_+_`, `_[_]`, `_[?_]`, `!_`, `_?_:_` …)."""

    function: str
    target: Node | None
    arguments: Sequence[Node]
    # The parameters of the overloads that may be meant, found by the checker.
    overloads: Sequence[tuple[Type, ...]] = field(default=(), init=False)


@dataclass(slots=True)
class ListNode(Node):
    """`optional` are the places of elements written `?element`."""

    elements: Sequence[Node]
    optional: frozenset[int]


@dataclass(slots=True)
class MapNode(Node):
    entries: Sequence[tuple[Node, Node]]
    optional: frozenset[int]


@dataclass(slots=True)
class Struct(Node):
    """`Name{field: value}`. `optional` are the places of entries written `?field: value`."""

    name: str
    entries: Sequence[tuple[str, Node]]
    optional: frozenset[int]


@dataclass(slots=True)
class Macro(Node):
    """`range.name(variables…, arguments…)`, and cel.bind, optMap, optFlatMap."""

    name: str
    range: Node
    variables: Sequence[str]
    arguments: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an expression, and where."""

    position: int
    message: str


class CompileError(ValueError):
    """The expression is no good. `stage` says when that was found."""

    stage = "compilation failed"

    @property
    def told(self) -> str:
        """As Kubernetes tells of it."""
        return f"{self.stage}: {self}"


class InstantiationError(CompileError):
    """It compiles, and cannot be made a program of all the same."""

    stage = "program instantiation failed"


class Problems(CompileError):
    """The text lists all problems as cel-go does."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        ordered = sorted(problems, key=lambda problem: problem.position)
        super().__init__("\n".join(_shown(source, problem) for problem in ordered))


def _shown(source: str, problem: Problem) -> str:
    before = source[: problem.position]
    line, column = before.count("\n") + 1, problem.position - (before.rfind("\n") + 1)
    text = source.split("\n")[line - 1].replace("\t", " ")
    shown = f"ERROR: <input>:{line}:{column + 1}: {problem.message}"
    if len(text.encode()) > _LONGEST_LINE:
        return shown
    dots = "".join("." if character.isascii() else "．" for character in text[:column])
    mark = "^" if text[column : column + 1].isascii() else "＾"
    return f"{shown}\n | {text}\n | {dots}{mark}"


_LONGEST_LINE = 16384  # bytes; longer ones are not shown
