"""What the rules of a definition may cost: each for itself, times how often it can run on one object, and all together.

Facts: apiextensions-apiserver/pkg/apis/apiextensions/validation (validation.go, cel_validation.go, v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver.resources.checks import Errors
from kubeloop.apimachinery.field import forbidden
from kubeloop.apimachinery.json_schema import Schema, additional_of

RULE_LIMIT = 10_000_000
DEFINITION_LIMIT = 100_000_000
_MOST = 2**64 - 1
_SHOWN = 4  # of the dearest rules, where all together are too dear
_WORTH_SHOWING = DEFINITION_LIMIT // 100
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)


@dataclass(slots=True)
class RuleCosts:
    """The costs found so far.

    `limits_each`: every expression has a limit of its own. Not those of a schema that stays as it is, which may come
    from a server that had no limits, or others.
    """

    limits_each: bool = True
    total: int = 0
    dearest: list[tuple[str, int]] = field(default_factory=list)

    def add(self, what: str, path: str, cost: int, errors: Errors) -> None:
        """Count an expression; `what` it is stands in the error where it alone is too dear."""
        if self.limits_each and cost > RULE_LIMIT:
            errors.append(forbidden(path, _exceeds(f"estimated {what} cost", cost, RULE_LIMIT)))
        self.total = min(self.total + cost, _MOST)
        if cost >= _WORTH_SHOWING:
            self.dearest = sorted([*self.dearest, (path, cost)], key=lambda found: -found[1])[:_SHOWN]

    def check_total(self, path: str, errors: Errors) -> None:
        if self.total <= DEFINITION_LIMIT:
            return
        errors.extend(forbidden(dear, _CONTRIBUTED) for dear, _ in self.dearest)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(forbidden(path, _exceeds(what, self.total, DEFINITION_LIMIT)))


def times(cost: int, count: int) -> int:
    return min(cost * count, _MOST)


def most_within(schema: Schema, count: int | None) -> int | None:
    """How often what stands in a value can be there, if the value is `count` times; None where nothing bounds it."""
    within: int | None = 1
    match schema.get("type"):
        case "object" if additional_of(schema) is not None:
            within = schema.get("maxProperties")
        case "array":
            within = schema.get("maxItems")
    return None if count is None or within is None else times(count, max(int(within), 0))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} ({_ADVICE})"
