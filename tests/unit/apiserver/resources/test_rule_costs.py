"""Rules that could keep a server busy for too long are refused with their definition."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.resources.apiextensions.rules import check_rules
from kubeloop.apimachinery.field import FieldError

Schema = dict[str, Any]
ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def ruled(schema: Schema, *rules: str, **more: str) -> Schema:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more} for rule in rules]}


def texts(most: int | None = None, length: int | None = None) -> Schema:
    items: Schema = {"type": "string", **({} if length is None else {"maxLength": length})}
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most})}


def refusals(field_schema: Schema) -> list[str]:
    errors: list[FieldError] = []
    check_rules({"type": "object", "properties": {"x": field_schema}}, "schema", errors)
    return [str(error) for error in errors]


RULE = (
    "schema.properties[x].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of"
)
TOTAL = (
    "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget"
)
CONTRIBUTED = (
    "schema.properties[x].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total "
    "exceeding cost limit for entire OpenAPIv3 schema"
)
NESTED = "self.all(a, self.exists(b, a == b))"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (ruled(texts(), "self.all(a, a == 'x')"), []),
        (
            ruled(texts(), NESTED),
            [
                f"{RULE} more than 100x {ADVICE}",
                CONTRIBUTED,
                f"{TOTAL} by factor of more than 100x {ADVICE}",
            ],
        ),
        (ruled(texts(100, 100), NESTED), []),
        (
            ruled(texts(1500), "self.all(a, a.matches('[a-z]+'))"),
            [f"{RULE} 94.4x {ADVICE}", CONTRIBUTED, f"{TOTAL} by factor of 9.4x {ADVICE}"],
        ),
        (ruled({"type": "string"}, "self.contains('x')"), []),
    ],
)
def test_dear_rules(schema: Schema, expected: list[str]) -> None:
    """Each rule has a limit, all together another; the factor says how far a rule is over it."""
    assert expected == refusals(schema)


def test_a_rule_counts_as_often_as_it_can_run() -> None:
    """Within a list it runs for every element: of a bounded list so many times, of others as fit into a request."""
    element = ruled({"type": "string", "maxLength": 200}, "self.matches('^[a-z]+$') && self.contains('x')")

    bounded = refusals({"type": "array", "maxItems": 50, "items": element})
    unbounded = refusals({"type": "array", "items": element})

    rule = RULE.replace("[x].", "[x].items.")
    assert [] == bounded
    assert unbounded[0].startswith(rule)


def test_messages_are_counted_too() -> None:
    """An expression that makes a message has the same limit."""
    dear = {"messageExpression": "self.map(a, self.map(b, a + b)).size() > 0 ? 'x' : 'y'"}

    first = refusals(ruled(texts(), "true", **dear))[0]

    assert "x-kubernetes-validations[0].messageExpression: Forbidden: estimated messageExpression cost" in first
