"""Where expressions are compiled: the variables they may name, and the functions they may call.

`Environment(variables).compile(text)` checks an expression as a whole and makes a Program, which is run with values
any number of times. This is what the rest of the server uses of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from apiserver.cel.checker import check
from apiserver.cel.compiler import STEPS, Evaluate, compile_node
from apiserver.cel.functions import Library, merged
from apiserver.cel.kubernetes import KUBERNETES
from apiserver.cel.lists import LISTS, OPTIONALS
from apiserver.cel.parser import parse
from apiserver.cel.standard import STANDARD
from apiserver.cel.strings import STRINGS
from apiserver.cel.types import Type

# How many turns of loops one evaluation may take: an expression must not stop the server (upstream counts costs).
MAX_STEPS = 300_000


@cache
def all_functions() -> Library:
    return merged(STANDARD, STRINGS, LISTS, OPTIONALS, KUBERNETES)


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression: the type it evaluates to, and the variables it names."""

    source: str
    type: Type
    names: frozenset[str]
    _evaluate: Evaluate

    def evaluate(self, bindings: Mapping[str, Any]) -> Any:
        """The value. Raises EvaluationError."""
        return self._evaluate({**bindings, STEPS: [MAX_STEPS]})


class Environment:
    """`struct_prefixes`: what begins the names that may be written `Name{…}`; their fields are not checked."""

    def __init__(self, variables: Mapping[str, Type], struct_prefixes: tuple[str, ...] = ()) -> None:
        self._variables, self._struct_prefixes = variables, struct_prefixes

    def with_variables(self, variables: Mapping[str, Type]) -> Environment:
        return Environment({**self._variables, **variables}, self._struct_prefixes)

    def compile(self, source: str) -> Program:
        """Raises CompileError, whose text lists what is wrong as cel-go does."""
        functions = all_functions()
        node = parse(source)
        type_, names = check(source, node, self._variables, functions, self._struct_prefixes)
        return Program(source, type_, names, compile_node(node, functions))
