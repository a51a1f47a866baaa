"""The defaults in a schema: each fits the schema it stands in."""

from __future__ import annotations

from typing import Any

from apiserver.resources.checks import Errors
from apiserver.schema.embedded import embedded_errors
from apiserver.schema.pruning import pruned
from apiserver.schema.structural_validation import check_value
from kubeloop.apimachinery import field
from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    META_FIELDS,
    RULES,
    Schema,
    all_within,
    items_of,
    properties_of,
    with_sorted_keys,
)


def check_defaults(schema: Schema, path: str, errors: Errors, *, is_root: bool = True, is_meta: bool = False) -> None:
    """Defaults under additionalProperties are forbidden elsewhere; `is_meta`: inside the metadata of an object."""
    is_object = is_root or bool(schema.get(EMBEDDED))
    is_meta = is_meta and not is_object
    if (default := schema.get("default")) is not None:
        _check_default(default, schema, f"{path}.default", errors, is_meta=is_meta)
    if (items := items_of(schema)) is not None:
        check_defaults(items, f"{path}.items", errors, is_root=False, is_meta=is_meta)
    for name, part in properties_of(schema).items():
        inside_meta = is_meta or (is_object and name in META_FIELDS)
        check_defaults(part, f"{path}.properties[{name}]", errors, is_root=False, is_meta=inside_meta)


def _check_default(default: Any, schema: Schema, at: str, errors: Errors, *, is_meta: bool) -> None:
    """What is wrong with the value hides what the steps after would say of it."""
    found: Errors = []
    if not is_meta:
        if pruned(default, schema, is_object=bool(schema.get(EMBEDDED))) != default:
            errors.append(field.invalid(at, with_sorted_keys(default), "must not have unknown fields"))
        found.extend(embedded_errors(default, schema, at))
    if not found:
        check_value(default, schema, at, found)
    if not found:
        _check_rules(default, schema, at, found)
    errors.extend(found)


def _check_rules(default: Any, schema: Schema, at: str, errors: Errors) -> None:
    """A default keeps to the rules, both as a value that was there before and as a new one."""
    if not any(part.get(RULES) for part in all_within(schema)):
        return
    from apiserver.registry.custom.rules import Before, rule_tree
    from apiserver.schema.old_values import UNKNOWN

    if (tree := rule_tree(schema)) is None:
        return
    errors.extend(tree.errors(default, Before(default), at))
    if not errors:
        errors.extend(tree.errors(default, Before(UNKNOWN), at))
