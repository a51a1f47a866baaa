"""The rules in CEL of a definition's schema: each compiles, and speaks of old values only where there are any.

Asked only of schemas that are fine otherwise, as their types come from them.
"""

from __future__ import annotations

from apiserver.resources.apiextensions.internal_schema import internal_rule
from apiserver.resources.checks import Errors
from apiserver.schema.json_schema import (
    LIST_TYPE,
    MAP_TYPE,
    RULES,
    Schema,
    additional_of,
    all_within,
    items_of,
    properties_of,
)
from kubeloop.apimachinery import field


def check_rules(schema: Schema, path: str, errors: Errors) -> None:
    """Compiles what is there; schemas without rules do not load CEL."""
    if any(part.get(RULES) for part in all_within(schema)):
        _check(schema, path, errors, is_root=True, unrelated="")


def _check(schema: Schema, path: str, errors: Errors, *, is_root: bool, unrelated: str) -> None:
    """`unrelated` is the path within which no old value can be found again."""
    if (additional := additional_of(schema)) is not None:
        below = unrelated or (path if schema.get(MAP_TYPE) == "atomic" else "")
        _check(additional, f"{path}.additionalProperties", errors, is_root=False, unrelated=below)
    for name, part in properties_of(schema).items():
        below = unrelated or (path if schema.get(MAP_TYPE) == "atomic" else "")
        _check(part, f"{path}.properties[{name}]", errors, is_root=False, unrelated=below)
    if (items := items_of(schema)) is not None:
        below = unrelated or (path if schema.get(LIST_TYPE) != "map" else "")
        _check(items, f"{path}.items", errors, is_root=False, unrelated=below)
    if schema.get(RULES):
        _check_own(schema, path, errors, is_root=is_root, unrelated=unrelated)


def _check_own(schema: Schema, path: str, errors: Errors, *, is_root: bool, unrelated: str) -> None:
    from apiserver.cel.schema_types import type_of
    from apiserver.cel.types import DYN
    from apiserver.registry.custom.rules import compiled_rules

    for i, compiled in enumerate(compiled_rules(schema, type_of(schema, is_root=is_root) or DYN)):
        at, shown = f"{path}.{RULES}[{i}]", internal_rule(compiled.rule)
        if compiled.error:
            errors.append(field.invalid(f"{at}.rule", shown, compiled.error))
        if compiled.message_error:
            errors.append(field.invalid(f"{at}.messageExpression", shown, compiled.message_error))
        if compiled.uses_old_self and unrelated:
            reason = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {unrelated}"
            errors.append(field.invalid(f"{at}.rule", compiled.rule["rule"], reason))
        elif compiled.program is not None and not compiled.uses_old_self and "optionalOldSelf" in compiled.rule:
            reason = "may not be set if oldSelf is not used in rule"
            errors.append(field.invalid(f"{at}.optionalOldSelf", compiled.rule["optionalOldSelf"], reason))
