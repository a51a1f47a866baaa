"""What a CustomResourceDefinition's schema may contain, field by field (OpenAPI v3 minus what is not supported)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apiserver.resources.apiextensions.structural import unsupported_field
from apiserver.resources.checks import NO_ITEMS, Errors, check_one_of
from apiserver.schema.field_paths import PathError, find_field
from kubeloop.apimachinery import field
from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    JUNCTORS,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    META_FIELDS,
    PRESERVE,
    RULES,
    Schema,
    additional_of,
    items_of,
    properties_of,
)

TYPES = ("array", "boolean", "integer", "number", "object", "string")
NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
NOT_EVEN_EMPTY = frozenset({"additionalItems", "dependencies", "$ref"})
RULE_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_has_line_break = re.compile(r"[\n\r]").search


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a schema we are, as far as it matters: inside metadata, and why there may be no defaults ("")."""

    is_root: bool = True
    is_meta: bool = False
    no_defaults: str = ""

    def inside(self) -> Place:
        return replace(self, is_root=False)


def check_schema(schema: Schema, path: str, errors: Errors, place: Place = Place()) -> None:
    _check_supported(schema, place, path, errors)
    if schema.get("uniqueItems"):
        reason = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(field.forbidden(f"{path}.uniqueItems", reason))
    _check_parts(schema, place, path, errors)
    if schema.get(PRESERVE) is False:
        errors.append(field.invalid(f"{path}.{PRESERVE}", False, "must be true or undefined"))
    _check_map_type(schema, path, errors)
    _check_list_type(schema, path, errors)
    _check_list_keys(schema, path, errors)
    _check_items_of_sets_and_maps(schema, path, errors)
    for i, rule in enumerate(schema.get(RULES) or NO_ITEMS):
        _check_rule(rule, schema, f"{path}.{RULES}[{i}]", errors)


def _check_supported(schema: Schema, place: Place, path: str, errors: Errors) -> None:
    if kind := schema.get("type"):
        check_one_of(kind, TYPES, f"{path}.type", errors)
    if schema.get("default") is not None and place.no_defaults:
        errors.append(field.forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    for name in NOT_SUPPORTED:
        if schema.get(name) or (name in NOT_EVEN_EMPTY and name in schema):
            errors.append(field.forbidden(f"{path}.{name}", f"{name} is not supported"))
    if schema.get("type") == "null":
        reason = "type cannot be set to null, use nullable as an alternative"
        errors.append(field.forbidden(f"{path}.type", reason))
    if isinstance(schema.get("items"), Sequence):
        errors.append(field.forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.is_meta and schema.get(EMBEDDED):
        errors.append(field.forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta"))


def _check_parts(schema: Schema, place: Place, path: str, errors: Errors) -> None:
    additional = schema.get("additionalProperties")
    if additional is not None and properties_of(schema) and additional is not True:
        reason = "additionalProperties and properties are mutual exclusive"
        errors.append(field.forbidden(f"{path}.additionalProperties", reason))
    if (part := additional_of(schema)) is not None:
        inner = place.inside()
        if place.is_meta:
            inner = replace(inner, no_defaults="inside additionalProperties applying to object metadata")
        check_schema(part, f"{path}.additionalProperties", errors, inner)
    for name, part in properties_of(schema).items():
        inner = place.inside()
        if name in META_FIELDS and (place.is_root or schema.get(EMBEDDED)):
            reason = f"in top-level {name}" if place.is_root else place.no_defaults
            inner = replace(inner, is_meta=True, no_defaults=reason)
        check_schema(part, f"{path}.properties[{name}]", errors, inner)
    if (negated := schema.get("not")) is not None:
        check_schema(negated, f"{path}.not", errors, place.inside())
    for name in JUNCTORS:
        for i, part in enumerate(schema.get(name) or NO_ITEMS):
            check_schema(part, f"{path}.{name}[{i}]", errors, place.inside())
    for name, part in (schema.get("definitions") or {}).items():
        check_schema(part, f"{path}.definitions[{name}]", errors, place.inside())
    if (items := items_of(schema)) is not None:
        check_schema(items, f"{path}.items", errors, place.inside())


def _check_map_type(schema: Schema, path: str, errors: Errors) -> None:
    map_type = schema.get(MAP_TYPE)
    if map_type is not None:
        _check_type_is("object", f"{MAP_TYPE} is specified", schema, path, errors)
        check_one_of(map_type, ("atomic", "granular"), f"{path}.{MAP_TYPE}", errors)


def _check_list_type(schema: Schema, path: str, errors: Errors) -> None:
    list_type, items = schema.get(LIST_TYPE), items_of(schema)
    if list_type is None:
        return
    if schema.get("type") != "array":
        _check_type_is("array", f"{LIST_TYPE} is specified", schema, path, errors)
    elif list_type == "set" and items is not None:
        # Elements of a set are compared as a whole.
        name = {"array": LIST_TYPE, "object": MAP_TYPE}.get(items.get("type", ""), "")
        default = "atomic" if name == LIST_TYPE else "granular"
        if name and items.get(name, default) != "atomic":
            reason = f"must be atomic as item of a list with {LIST_TYPE}=set"
            errors.append(field.invalid(f"{path}.items.{name}", items.get(LIST_TYPE), reason))
    check_one_of(list_type, ("atomic", "set", "map"), f"{path}.{LIST_TYPE}", errors)


def _check_type_is(wanted: str, why: str, schema: Schema, path: str, errors: Errors) -> None:
    kind, reason = schema.get("type", ""), f"must be {wanted} if {why}"
    if not kind:
        errors.append(field.required(f"{path}.type", reason))
    elif kind != wanted:
        errors.append(field.invalid(f"{path}.type", kind, reason))


def _check_list_keys(schema: Schema, path: str, errors: Errors) -> None:
    keys, list_type, at = schema.get(LIST_KEYS) or [], schema.get(LIST_TYPE), f"{path}.{LIST_KEYS}"
    if keys and list_type != "map":
        reason = f"must be map if {LIST_KEYS} is non-empty"
        where = f"{path}.{LIST_TYPE}"
        errors.append(field.required(where, reason) if list_type is None else field.invalid(where, list_type, reason))
    if list_type != "map":
        return
    if not keys:
        errors.append(field.required(at, f"must not be empty if {LIST_TYPE} is map"))
    items = items_of(schema)
    if schema.get("items") is None:
        errors.append(field.required(f"{path}.items", f"must have a schema if {LIST_TYPE} is map"))
    elif items is None:
        reason = f"must only have a single schema if {LIST_TYPE} is map"
        errors.append(field.invalid(f"{path}.items", schema["items"], reason))
    elif items.get("type", "") != "object":
        reason = f"must be object if parent array's {LIST_TYPE} is map"
        errors.append(field.invalid(f"{path}.items.type", items.get("type", ""), reason))
    else:
        _check_key_properties(keys, items, path, errors)


def _check_key_properties(keys: Sequence[str], items: Schema, path: str, errors: Errors) -> None:
    at = f"{path}.{LIST_KEYS}"
    for i, key in enumerate(keys):
        part = properties_of(items).get(key)
        if part is None:
            errors.append(field.invalid(at, keys, "entries must all be names of item properties"))
        elif part.get("type") in ("array", "object"):
            reason = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            errors.append(field.invalid(f"{path}.items.properties[{key}].type", items["type"], reason))
        if key in keys[:i]:
            errors.append(field.invalid(at, keys, "must not contain duplicate entries"))


def _check_items_of_sets_and_maps(schema: Schema, path: str, errors: Errors) -> None:
    """Items that are found again by their value or key are there, with a key."""
    list_type, items = schema.get(LIST_TYPE), items_of(schema)
    if items is None or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        reason = f"cannot be nullable when {LIST_TYPE} is {list_type}"
        errors.append(field.forbidden(f"{path}.items.nullable", reason))
    required = items.get("required") or NO_ITEMS
    for key in schema.get(LIST_KEYS) or NO_ITEMS if list_type == "map" else NO_ITEMS:
        part, at = properties_of(items).get(key), f"{path}.items.properties[{key}]"
        if part is None:
            continue
        intro = f"this property is in {LIST_KEYS}, so it"
        if key not in required and part.get("default") is None:
            errors.append(field.required(f"{at}.default", f"{intro} must have a default or be a required property"))
        if part.get("nullable"):
            errors.append(field.forbidden(f"{at}.nullable", f"{intro} cannot be nullable"))


def _check_rule(rule: Mapping[str, Any], schema: Schema, path: str, errors: Errors) -> None:
    """What can be said about a rule before its expressions are compiled."""
    expression, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not expression:
        errors.append(field.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(field.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _has_line_break(message.strip()):
        errors.append(field.invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _has_line_break(expression) and not message:
        reason = "message must be specified if rule contains line breaks"
        errors.append(field.required(f"{path}.message", reason))
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        errors.append(field.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    if "reason" in rule:
        check_one_of(rule["reason"], RULE_REASONS, f"{path}.reason", errors)
    field_path = rule.get("fieldPath", "")
    if field_path and not field_path.strip():
        errors.append(field.invalid(f"{path}.fieldPath", field_path, "must be non-empty if specified"))
    if _has_line_break(field_path):
        errors.append(field.invalid(f"{path}.fieldPath", field_path, "must not contain line breaks"))
    if field_path and not _leads_somewhere(field_path, schema):
        errors.append(field.invalid(f"{path}.fieldPath", field_path, "must be a valid path"))


def _leads_somewhere(field_path: str, schema: Schema) -> bool:
    """Asked only of schemas that can be taken apart."""
    if unsupported_field(schema):
        return True
    try:
        find_field(field_path, schema)
    except PathError:
        return False
    return True
