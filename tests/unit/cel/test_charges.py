"""What expressions are charged while they run, so that none holds the server up."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.cel.comprehensions import TOO_LONG
from kubeloop.cel.environment import Budget, Environment, OutOfBudget
from kubeloop.cel.types import DYN, STRING, list_of
from kubeloop.cel.values import EvaluationError

LONG, MANY = "a" * 100_000, [str(i) for i in range(2000)]
VALUES: dict[str, Any] = {
    "text": LONG,
    "texts": ["a"] * 20,
    "many": MANY,
    "object": {"metadata": {"annotations": dict.fromkeys(MANY, "x")}},
}
TYPES = {"text": STRING, "texts": list_of(STRING), "many": list_of(STRING), "object": DYN}
ENVIRONMENT = Environment(TYPES)


def evaluated(expression: str, budget: Budget | None = None) -> Any:
    return ENVIRONMENT.compile(expression).evaluate(VALUES, budget)


@pytest.mark.parametrize(
    "body",
    [
        "(text + text).size() > 0",
        "text.lowerAscii().size() > 0",
        "text.replace('b', 'c').size() > 0",
        "text.split('').size() > 0",
        "text.contains('aaaaaaaaaab') || true",
        "text.matches('^(a+)+$')",
        "text.findAll('a').size() > 0",
        "text == text",
        "!(text < text)",
        "texts.map(t, text).join('').size() > 0",
        "'%s'.format([text]).size() > 0",
        "'0' in many",
        "object == object",
        "(many + many + many).size() > 0",
        "many.indexOf('1999') > 0",
        "many.sort().size() > 0",
        "many.slice(0, 1999).size() > 0",
        "sets.contains(many, ['0'])",
        "isQuantity(text) || true",
        "lists.range(10000).size() > 0",
    ],
)
def test_what_takes_long_is_paid_for_in_every_turn(body: str) -> None:
    """Once it may be done; hundreds of times it costs more than an evaluation may, whatever else is true."""
    assert evaluated(body) is True
    with pytest.raises(EvaluationError, match=TOO_LONG):
        evaluated(f"many.all(turn, {body}) || true")


@pytest.mark.parametrize(
    "expression",
    [
        "text.replace('a', text).size() > 0",
        "lists.range(1000000000000).size() > 0",
        "'%s'.format([many.map(m, text)]).size() > 0",
        "many.map(m, text).join('').size() > 0",
        "many.map(m, m + text).distinct().size() > 0",
        "many.map(m, many).flatten().size() > 0",
    ],
)
def test_what_would_grow_without_end_is_not_made(expression: str) -> None:
    """It is paid for before it is made."""
    with pytest.raises(EvaluationError, match=TOO_LONG):
        evaluated(expression)


def test_a_budget_pays_for_long_texts_too() -> None:
    """Several evaluations together cost what they cost."""
    budget = Budget(15_000)
    evaluated("text.lowerAscii() != ''", budget)
    with pytest.raises(OutOfBudget):
        evaluated("text.lowerAscii() != ''", budget)


def test_short_values_cost_nothing_but_their_turns() -> None:
    """What is usual is not charged twice."""
    assert evaluated("many.all(m, m + 'x' != 'y' && m.startsWith(m) && !(m in ['a', 'b']) && m.size() < 5)") is True
