"""The rules in CEL of a definition's schema: they compile, cost what they may, and name old values where there are any.

Asked only of schemas that are fine otherwise, as their types come from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.resources.apiextensions.internal_schema import internal_rule
from apiserver.resources.apiextensions.rule_costs import RuleCosts, most_within, times
from apiserver.resources.checks import Errors
from kubeloop.apimachinery import field
from kubeloop.apimachinery.json_schema import (
    LIST_TYPE,
    MAP_TYPE,
    RULES,
    Schema,
    additional_of,
    all_within,
    items_of,
    properties_of,
)


def check_rules(schema: Schema, path: str, errors: Errors, *, is_unchanged: bool = False) -> None:
    """Compiles what is there; schemas without rules do not load CEL. `is_unchanged`: it is stored already."""
    if any(part.get(RULES) for part in all_within(schema)):
        costs = RuleCosts(limits_each=not is_unchanged)
        _check(schema, path, errors, _Place(costs, is_root=True))
        costs.check_total(path, errors)


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a schema. `unrelated` is the path within which no old value can be found again.

    `most_times` is how often a value can stand there, as far as the schema bounds that.
    """

    costs: RuleCosts
    is_root: bool = False
    unrelated: str = ""
    most_times: int | None = 1

    def within(self, schema: Schema, unrelated: str) -> _Place:
        return _Place(self.costs, False, self.unrelated or unrelated, most_within(schema, self.most_times))


def _check(schema: Schema, path: str, errors: Errors, place: _Place) -> None:
    inner = place.within(schema, path if schema.get(MAP_TYPE) == "atomic" else "")
    if (additional := additional_of(schema)) is not None:
        _check(additional, f"{path}.additionalProperties", errors, inner)
    for name, part in properties_of(schema).items():
        _check(part, f"{path}.properties[{name}]", errors, inner)
    if (items := items_of(schema)) is not None:
        inner = place.within(schema, path if schema.get(LIST_TYPE) != "map" else "")
        _check(items, f"{path}.items", errors, inner)
    if schema.get(RULES):
        _check_own(schema, path, errors, place)


def _check_own(schema: Schema, path: str, errors: Errors, place: _Place) -> None:
    from apiserver.registry.custom.rules import compiled_rules
    from kubeloop.cel.cost.estimate import estimated_cost
    from kubeloop.cel.cost.sizes import sizes_of
    from kubeloop.cel.schema_types import type_of
    from kubeloop.cel.types import DYN

    sizes = sizes_of(schema, is_root=place.is_root)
    most_times = place.most_times
    if most_times is None:
        most_times = sizes.most_times if sizes is not None else 1
    for i, compiled in enumerate(compiled_rules(schema, type_of(schema, is_root=place.is_root) or DYN)):
        at, shown = f"{path}.{RULES}[{i}]", internal_rule(compiled.rule)
        if compiled.program is not None:
            cost = times(estimated_cost(compiled.program.tree, sizes), most_times)
            place.costs.add("rule", f"{at}.rule", cost, errors)
        if compiled.error:
            errors.append(field.invalid(f"{at}.rule", shown, compiled.error))
        if compiled.message_error:
            errors.append(field.invalid(f"{at}.messageExpression", shown, compiled.message_error))
        elif compiled.message is not None:
            cost = estimated_cost(compiled.message.tree, sizes)
            place.costs.add("messageExpression", f"{at}.messageExpression", cost, errors)
        if compiled.uses_old_self and place.unrelated:
            reason = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.unrelated}"
            errors.append(field.invalid(f"{at}.rule", compiled.rule["rule"], reason))
        elif not compiled.uses_old_self and "optionalOldSelf" in compiled.rule:
            reason = "may not be set if oldSelf is not used in rule"
            errors.append(field.invalid(f"{at}.optionalOldSelf", compiled.rule["optionalOldSelf"], reason))
