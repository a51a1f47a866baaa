"""Versions and schemas of definitions as Kubernetes' internal Go structs print in a refusal.

The internal types have no JSON names: every field stands under its Go name, in Go's order, and maps are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import go_struct
from kubeloop.apimachinery.json_schema import Schema, with_sorted_keys

Json = Mapping[str, Any]

_VERSION = {
    "name": "Name",
    "served": "Served",
    "storage": "Storage",
    "deprecated": "Deprecated",
    "deprecationWarning": "DeprecationWarning",
    "schema": "Schema",
    "subresources": "Subresources",
    "additionalPrinterColumns": "AdditionalPrinterColumns",
    "selectableFields": "SelectableFields",
}
_EMPTY_VERSION = {"name": "", "served": False, "storage": False, "deprecated": False}
_COLUMN = {name: name.capitalize() for name in ("name", "type", "format", "description", "priority")} | {
    "jsonPath": "JSONPath"
}
_EMPTY_COLUMN = {"name": "", "type": "", "format": "", "description": "", "priority": 0, "jsonPath": ""}
_SCALE = {
    "specReplicasPath": "SpecReplicasPath",
    "statusReplicasPath": "StatusReplicasPath",
    "labelSelectorPath": "LabelSelectorPath",
}
_RULE = {
    "rule": "Rule",
    "message": "Message",
    "messageExpression": "MessageExpression",
    "reason": "Reason",
    "fieldPath": "FieldPath",
    "optionalOldSelf": "OptionalOldSelf",
}
_EMPTY_RULE = {"rule": "", "message": "", "messageExpression": "", "fieldPath": ""}
# JSON names in the order of the Go fields, whose names follow from them.
_SCHEMA = (
    "id $schema $ref description type nullable format title default maximum exclusiveMaximum minimum exclusiveMinimum "
    "maxLength minLength pattern maxItems minItems uniqueItems multipleOf enum maxProperties minProperties required "
    "items allOf oneOf anyOf not properties additionalProperties patternProperties dependencies additionalItems "
    "definitions externalDocs example x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource "
    "x-kubernetes-int-or-string x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type "
    "x-kubernetes-validations"
)
_TEXTS = frozenset({"id", "$schema", "description", "type", "format", "title", "pattern"})
_FLAGS = frozenset(
    {
        "nullable",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    }
)
_SCHEMA_LISTS = frozenset({"allOf", "oneOf", "anyOf"})
_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "definitions"})
_SCHEMAS_OR_FLAGS = frozenset({"additionalProperties", "additionalItems"})


def internal_versions(versions: Sequence[Json]) -> list[Any]:
    return [_version(version) for version in versions]


def internal_rule(rule: Json) -> Any:
    return go_struct(rule, _RULE, _EMPTY_RULE)


def internal_schema(schema: Schema) -> Json:
    return {_go_name(name): _field(name, schema.get(name)) for name in _SCHEMA.split()}


def _version(version: Json) -> Any:
    parts = dict(version)
    if (holder := version.get("schema")) is not None:
        schema = holder.get("openAPIV3Schema")
        parts["schema"] = {"OpenAPIV3Schema": None if schema is None else internal_schema(schema)}
    if (subresources := version.get("subresources")) is not None:
        scale = subresources.get("scale")
        parts["subresources"] = {
            "Status": subresources.get("status"),
            "Scale": None if scale is None else go_struct(scale, _SCALE, dict.fromkeys(tuple(_SCALE)[:2], "")),
        }
    if (columns := version.get("additionalPrinterColumns")) is not None:
        parts["additionalPrinterColumns"] = [go_struct(column, _COLUMN, _EMPTY_COLUMN) for column in columns]
    if (selectable := version.get("selectableFields")) is not None:
        parts["selectableFields"] = [{"JSONPath": entry.get("jsonPath", "")} for entry in selectable]
    return go_struct(parts, _VERSION, _EMPTY_VERSION)


def _go_name(name: str) -> str:
    if name == "id":
        return "ID"
    words = name.removeprefix("$").removeprefix("x-kubernetes-").split("-")
    go_name = "".join(word[:1].upper() + word[1:] for word in words)
    return f"X{go_name}" if name.startswith("x-") else go_name


def _field(name: str, value: Any) -> Any:
    if value is None:
        return "" if name in _TEXTS else False if name in _FLAGS else None
    if name in _SCHEMA_LISTS:
        return [internal_schema(part) for part in value]
    if name in _SCHEMA_MAPS:
        return {key: internal_schema(part) for key, part in sorted(value.items())}
    if name in _SCHEMAS_OR_FLAGS:
        is_schema = isinstance(value, Mapping)
        return {"Allows": is_schema or value, "Schema": internal_schema(value) if is_schema else None}
    match name:
        case "not":
            return internal_schema(value)
        case "items":
            return _items(value)
        case "dependencies":
            return {key: _dependency(part) for key, part in sorted(value.items())}
        case "externalDocs":
            return go_struct(value, {"description": "Description", "url": "URL"}, {"description": "", "url": ""})
        case "x-kubernetes-validations":
            return [internal_rule(rule) for rule in value]
    return with_sorted_keys(value)


def _items(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {"Schema": internal_schema(value), "JSONSchemas": None}
    return {"Schema": None, "JSONSchemas": [internal_schema(part) for part in value]}


def _dependency(value: Any) -> Json:
    is_schema = isinstance(value, Mapping)
    return {"Schema": internal_schema(value) if is_schema else None, "Property": None if is_schema else value}


def is_zero(name: str, value: Any) -> bool:
    """Whether a schema's field has the value its Go field has where nothing is said: there, 0 and [] are something."""
    return value is None or (not value and (name in _TEXTS or name in _FLAGS))
