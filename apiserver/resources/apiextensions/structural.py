"""Whether a schema is structural: every field's type is known without looking at values.

So a server knows what to prune and default. Types and the like stand on the outside; what is inside `allOf`, `anyOf`,
`oneOf` and `not` only restricts values of fields that are declared outside as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors
from kubeloop.apimachinery import field, go_regexp
from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    INT_OR_STRING,
    JUNCTORS,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    RULES,
    Schema,
    additional_of,
    items_of,
    properties_of,
)

ROOT, ITEM, FIELD = "at the root", "for specified array items", "for specified object fields"
INT_OR_STRING_PATTERN = [{"type": "integer"}, {"type": "string"}]
# What may not stand under a junctor, and what it must be instead.
OUTSIDE_ONLY = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    LIST_KEYS: "empty",
    LIST_TYPE: "undefined",
    MAP_TYPE: "undefined",
    RULES: "empty",
}
# Fields NewStructural does not know, in the order it looks for them.
UNKNOWN = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")


def unsupported_field(schema: Schema) -> str:
    """Why the schema cannot be taken apart at all; "" where it can."""
    for name in UNKNOWN:
        if schema.get(name):
            return f"OpenAPIV3Schema '{name.removeprefix('$') if name == '$schema' else name}' is not supported"
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), Sequence):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    inner = [items_of(schema), *properties_of(schema).values(), additional_of(schema), schema.get("not")]
    for name in JUNCTORS:
        inner += schema.get(name) or ()
    return next((why for part in inner if part is not None and (why := unsupported_field(part))), "")


def check_structural(schema: Schema, path: str, errors: Errors) -> None:
    """All that keeps it from being structural, sorted as upstream does."""
    found: Errors = []
    _check_level(schema, ROOT, path, found)
    _check_complete(schema, schema, path, path, found)
    errors.extend(sorted(found, key=str))


def _check_level(schema: Schema, level: str, path: str, errors: Errors) -> None:
    kind = schema.get("type", "")
    items, additional = items_of(schema), schema.get("additionalProperties")
    if kind == "array" and items is None:
        errors.append(field.required(f"{path}.items", "must be specified"))
    if items is not None:
        _check_level(items, ITEM, f"{path}.items", errors)
    for name, part in properties_of(schema).items():
        _check_level(part, FIELD, f"{path}.properties[{name}]", errors)
    if additional is not None and level == ROOT:
        errors.append(field.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    if isinstance(additional, Mapping):
        _check_level(additional, FIELD, f"{path}.additionalProperties", errors)
    _check_extensions(schema, path, errors)
    _check_values(schema, path, errors, skip_any_of=schema.get("anyOf") == INT_OR_STRING_PATTERN)
    _check_type(schema, level, path, errors)
    _check_object_fields(schema, level, path, errors)


def _check_extensions(schema: Schema, path: str, errors: Errors) -> None:
    if schema.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                reason = f"must be false if {INT_OR_STRING} is true"
                errors.append(field.invalid(f"{path}.{name}", True, reason))


def _check_type(schema: Schema, level: str, path: str, errors: Errors) -> None:
    kind, at = schema.get("type", ""), f"{path}.type"
    if schema.get(EMBEDDED) and kind != "object":
        reason = f"must be object if {EMBEDDED} is true"
        errors.append(field.invalid(at, kind, reason) if kind else field.required(at, reason))
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        errors.append(field.required(at, f"must not be empty {level}"))
    if schema.get(EMBEDDED) and "additionalProperties" in schema:
        reason = f"must not be used if {EMBEDDED} is set"
        errors.append(field.forbidden(f"{path}.additionalProperties", reason))
    if level == ROOT and kind and kind != "object":
        errors.append(field.invalid(at, kind, "must be object at the root"))


def _check_object_fields(schema: Schema, level: str, path: str, errors: Errors) -> None:
    """What every object has (kind, apiVersion, metadata) is known; a schema may restrict little of it."""
    properties, is_object = properties_of(schema), level == ROOT or schema.get(EMBEDDED, False)
    for name in ("kind", "apiVersion"):
        if name in properties and is_object and properties[name].get("type", "") != "string":
            at = f"{path}.properties[{name}].type"
            errors.append(field.invalid(at, properties[name].get("type", ""), "must be string"))
    metadata, at = properties.get("metadata"), f"{path}.properties[metadata]"
    if metadata is not None:
        if is_object and metadata.get("type", "") != "object":
            errors.append(field.invalid(f"{at}.type", metadata.get("type", ""), "must be object"))
        if level == ROOT and _says_more_than_names(metadata):
            reason = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(field.forbidden(at, reason))
    if schema.get(EMBEDDED) and not schema.get(PRESERVE) and not properties:
        reason = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        errors.append(field.required(f"{path}.properties", reason))


def _says_more_than_names(metadata: Schema) -> bool:
    rest = {k: v for k, v in metadata.items() if v and k not in ("type", "default")}
    names = set(rest.get("properties") or ())
    return bool(names - {"name", "generateName"}) or bool(rest.keys() - {"properties"})


def _check_values(schema: Schema, path: str, errors: Errors, *, skip_any_of: bool) -> None:
    for name in ("anyOf", "allOf", "oneOf"):
        for i, part in enumerate(schema.get(name) or NO_ITEMS):
            if name == "anyOf" and skip_any_of:
                continue
            is_pattern = name == "allOf" and i == 0 and part.get("anyOf") == INT_OR_STRING_PATTERN
            _check_nested(part, f"{path}.{name}[{i}]", errors, skip_any_of=is_pattern)
    if (negated := schema.get("not")) is not None:
        _check_nested(negated, f"{path}.not", errors, skip_any_of=False)
    if pattern := schema.get("pattern"):
        try:
            go_regexp.compile_pattern(pattern)
        except go_regexp.PatternError as error:
            reason = f"must be a valid regular expression, but isn't: {error}"
            errors.append(field.invalid(f"{path}.pattern", pattern, reason))


def _check_nested(schema: Schema, path: str, errors: Errors, *, skip_any_of: bool) -> None:
    """A part under a junctor: only restrictions of values."""
    _check_values(schema, path, errors, skip_any_of=skip_any_of)
    if (items := items_of(schema)) is not None:
        _check_nested(items, f"{path}.items", errors, skip_any_of=False)
    for name, part in properties_of(schema).items():
        _check_nested(part, f"{path}.properties[{name}]", errors, skip_any_of=False)
    for name, what in OUTSIDE_ONLY.items():
        if _is_said(name, schema.get(name)):
            errors.append(field.forbidden(f"{path}.{name}", f"must be {what} to be structural"))
    if "metadata" in properties_of(schema):
        reason = "must not be specified in a nested context"
        errors.append(field.forbidden(f"{path}.properties[metadata]", reason))


def _is_said(name: str, value: Any) -> bool:
    """Some fields say something even where they are empty, `additionalProperties: false` does not."""
    if name == "additionalProperties":
        return value is not None and value is not False
    return value is not None if OUTSIDE_ONLY[name] == "undefined" else bool(value)


def _check_complete(values: Schema, schema: Any, path: str, values_path: str, errors: Errors) -> None:
    """What is restricted inside junctors is declared outside of them."""
    for name in ("not", *JUNCTORS):
        parts = values.get(name)
        for i, part in enumerate([parts] if name == "not" and parts is not None else parts or NO_ITEMS):
            at = f"{values_path}.not" if name == "not" else f"{values_path}.{name}[{i}]"
            _check_part_complete(part, schema, path, at, errors)


def _check_part_complete(values: Schema, schema: Any, path: str, values_path: str, errors: Errors) -> None:
    if schema is None:
        errors.append(field.required(path, f"because it is defined in {values_path}"))
        return
    _check_complete(values, schema, path, values_path, errors)
    if (items := items_of(values)) is not None:
        _check_part_complete(items, items_of(schema), f"{path}.items", f"{values_path}.items", errors)
    for name, part in properties_of(values).items():
        at = f"properties[{name}]"
        _check_part_complete(part, properties_of(schema).get(name), f"{path}.{at}", f"{values_path}.{at}", errors)
