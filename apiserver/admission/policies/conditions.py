"""Match conditions: all must hold for a policy or webhook to be asked.

Facts: k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.admission.policies.activation import Activation
from kubeloop.cel.environment import MATCH_CONDITIONS_BUDGET, Budget, OutOfBudget, Program
from kubeloop.cel.policy_expressions import CONDITION, ExpressionError, Expressions
from kubeloop.cel.values import EvaluationError

Json = Mapping[str, Any]


class ConditionError(ValueError):
    """Conditions that could not be evaluated, none of which is false."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Compiled ones; what does not compile fails where it is evaluated."""

    programs: Sequence[Program | ExpressionError]

    @classmethod
    def of(cls, conditions: Sequence[Json], expressions: Expressions) -> Conditions:
        return cls([compiled(expressions, condition["expression"], CONDITION) for condition in conditions])

    def hold(self, activation: Activation) -> bool:
        """Whether none is false. Raises ConditionError where some fail instead."""
        if not self.programs:
            return True
        budget = Budget(MATCH_CONDITIONS_BUDGET)
        bindings = activation.bindings(budget, has_namespace=False)
        problems: list[str] = []
        for program in self.programs:
            try:
                if evaluated(program, bindings, budget) is False:
                    return False
            except OutOfBudget as error:
                raise ConditionError(str(error)) from error
            except EvaluationError as error:
                problems.append(str(error))
        if problems:
            told = list(dict.fromkeys(problems))
            raise ConditionError(told[0] if len(told) == 1 else f"[{', '.join(told)}]")
        return True


def compiled(expressions: Expressions, source: str, results: Sequence[Any]) -> Program | ExpressionError:
    """The program of an expression, or why there is none: policies are told of that when they are used."""
    try:
        return expressions.compile(source, *results)
    except ExpressionError as error:
        return error


def evaluated(program: Program | ExpressionError, bindings: Mapping[str, Any], budget: Budget) -> Any:
    """The value of an expression. Raises EvaluationError in the words that users are shown; OutOfBudget."""
    if isinstance(program, ExpressionError):
        raise EvaluationError(f"compilation error: {program}")
    try:
        return program.evaluate(bindings, budget)
    except OutOfBudget:
        raise
    except EvaluationError as error:
        raise EvaluationError(f"expression '{program.source}' resulted in error: {error}") from error
