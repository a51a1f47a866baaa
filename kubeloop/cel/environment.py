"""Where expressions are compiled: the variables they may name, and the functions they may call.

`Environment(variables).compile(text)` checks an expression as a whole and makes a Program, which is run with values
any number of times. This is what the rest of the server uses of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubeloop.cel.addresses import ADDRESSES
from kubeloop.cel.authorization import AUTHORIZATION
from kubeloop.cel.checker import check
from kubeloop.cel.compiler import STEPS, Evaluate, compile_node
from kubeloop.cel.comprehensions import TOO_LONG
from kubeloop.cel.functions import Library, merged
from kubeloop.cel.kubernetes import KUBERNETES
from kubeloop.cel.lists import LISTS, OPTIONALS
from kubeloop.cel.parser import TOO_DEEP, parse
from kubeloop.cel.patches import PATCHES
from kubeloop.cel.standard import STANDARD
from kubeloop.cel.strings import STRINGS
from kubeloop.cel.syntax import Node, Problem, Problems
from kubeloop.cel.types import Type
from kubeloop.cel.values import EvaluationError
from kubeloop.cel.versions import VERSIONS

# What one evaluation may cost, and all the rules of an object or validations of a policy together
# (k8s.io/apiserver/pkg/apis/cel/config.go, v1.36).
EVALUATION_LIMIT = 1_000_000
OBJECT_BUDGET = 10_000_000
MATCH_CONDITIONS_BUDGET = 2_500_000


@cache
def all_functions(has_patches: bool = False) -> Library:
    always = merged(STANDARD, STRINGS, LISTS, OPTIONALS, KUBERNETES, ADDRESSES, VERSIONS, AUTHORIZATION)
    return merged(always, PATCHES) if has_patches else always


class OutOfBudget(EvaluationError):
    """Evaluations have cost more than they may together."""


class Budget:
    """What a number of evaluations may cost together."""

    def __init__(self, amount: int = OBJECT_BUDGET) -> None:
        self._left = amount

    def spend(self, cost: int) -> None:
        """Raises OutOfBudget, from then on always."""
        self._left -= cost
        if self._left < 0:
            raise OutOfBudget(
                "validation failed due to running out of cost budget, no further validation rules will be run"
            )


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression: the type it evaluates to, and the variables it names."""

    source: str
    type: Type
    names: frozenset[str]
    tree: Node
    _evaluate: Evaluate

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value. Raises EvaluationError; OutOfBudget where `budget` is used up."""
        left = [EVALUATION_LIMIT]
        try:
            value = self._evaluate({**bindings, STEPS: left})
            if left[0] < 0:  # with an error that something else outweighed
                raise EvaluationError(TOO_LONG)
            return value
        except RecursionError as error:
            raise EvaluationError(TOO_DEEP) from error
        finally:
            if budget is not None and left[0] != EVALUATION_LIMIT:
                budget.spend(EVALUATION_LIMIT - left[0])


class Environment:
    """`has_patches`: whether the types of mutating expressions, Object and JSONPatch, are known; `has_bindings`:
    whether cel.bind is.
    """

    def __init__(self, variables: Mapping[str, Type], *, has_patches: bool = False, has_bindings: bool = False) -> None:
        self._variables, self._has_patches, self._has_bindings = variables, has_patches, has_bindings

    def with_variables(self, variables: Mapping[str, Type]) -> Environment:
        return Environment(
            {**self._variables, **variables}, has_patches=self._has_patches, has_bindings=self._has_bindings
        )

    def with_patches(self) -> Environment:
        return Environment(self._variables, has_patches=True, has_bindings=self._has_bindings)

    def compile(self, source: str) -> Program:
        """Raises CompileError, whose text lists what is wrong as cel-go does."""
        functions = all_functions(self._has_patches)
        try:
            node = parse(source, self._has_bindings)
            type_, names = check(source, node, self._variables, functions, self._has_patches)
            return Program(source, type_, names, node, compile_node(node, functions))
        except RecursionError as error:  # chains and nests of some hundred: here it is the stack that limits them
            raise Problems(source, [Problem(0, TOO_DEEP)]) from error
