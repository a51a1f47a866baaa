"""The schemas of the OpenAPI documents: the shipped definitions, restated the way a real server publishes them.

The shipped form is made for JSON Schema validators (`type: [string, null]`, `additionalProperties: false`, enums of
kind and apiVersion); published are single types, references into the same document, enums of the named string types
and the x-kubernetes marks. `openapi` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from apiserver.schema.definitions import REF_PREFIX
from apiserver.schema.go_fields import GoField, enum_of, go_fields
from apiserver.schema.nodes import Omit
from apiserver.schema.openapi_paths import COMPONENTS

Definition = dict[str, Any]
DEFINITIONS = "#/definitions/"

_API = "io.k8s.apimachinery.pkg"
# Both documents say it their own way, for v2 has no oneOf.
_UNIONS_V3: Mapping[str, Definition] = {
    f"{_API}.api.resource.Quantity": {
        "description": "A fixed-point number with a unit: 500m, 1.5, 64Mi, 1e3.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    f"{_API}.util.intstr.IntOrString": {
        "description": "An int32 or a string; where a percentage is meant, a string like 25%.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_UNIONS_V2: Mapping[str, Definition] = {
    name: {"description": union["description"], "type": "string"}
    | ({"format": union["format"]} if "format" in union else {})
    for name, union in _UNIONS_V3.items()
}
_DROPPED = frozenset({"additionalProperties", "enum", "type"})
# What a field without omitempty is when nobody set it.
_ZEROS: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def schemas_v3(definitions: Mapping[str, Definition], wanted: Iterable[str]) -> dict[str, Definition]:
    """The wanted definitions and all they refer to, as components of an OpenAPI v3 document."""
    return _published(definitions, wanted, COMPONENTS, _UNIONS_V3)


def schemas_v2(definitions: Mapping[str, Definition], wanted: Iterable[str]) -> dict[str, Definition]:
    """The same as definitions of an OpenAPI v2 document."""
    return _published(definitions, wanted, DEFINITIONS, _UNIONS_V2)


def _published(
    definitions: Mapping[str, Definition], wanted: Iterable[str], prefix: str, unions: Mapping[str, Definition]
) -> dict[str, Definition]:
    published: dict[str, Definition] = {}
    waiting = [name for name in wanted if name in definitions]
    while waiting:
        name = waiting.pop()
        if name in published:
            continue
        published[name] = dict(unions[name]) if name in unions else _struct(name, definitions, prefix)
        waiting.extend(_references(definitions[name]))
    return dict(sorted(published.items()))


def _struct(name: str, definitions: Mapping[str, Definition], prefix: str) -> Definition:
    definition = definitions[name]
    struct = {key: value for key, value in definition.items() if key not in (*_DROPPED, "properties")}
    if "type" in definition:
        struct["type"] = _single(definition["type"])
    if "properties" in definition:
        go = go_fields(name)
        struct["properties"] = {
            key: _property(name, value, go.get(key), definitions, prefix)
            for key, value in definition["properties"].items()
        }
    return struct


def _property(
    struct: str, value: Definition, go: GoField | None, definitions: Mapping[str, Definition], prefix: str
) -> Definition:
    published = _value(value, prefix)
    if go is None:
        return published
    # OpenAPI v2 documents name no defaults.
    if prefix == COMPONENTS and (default := _default(value, published, go, definitions)) is not None:
        published = _with_default(published, default)
    if enum := enum_of(struct, go.type):
        (published["items"] if published.get("type") == "array" else published)["enum"] = list(enum)
    return published


def _default(value: Definition, published: Definition, go: GoField, definitions: Mapping[str, Definition]) -> Any:
    """A declared default; {} for structs by value, which are never absent; or the zero of what is always written."""
    if go.default is not None:
        return go.default
    if go.is_pointer:
        return None
    if "$ref" in value:
        return {} if "properties" in definitions.get(value["$ref"].removeprefix(REF_PREFIX), {}) else None
    if go.omit is not Omit.NEVER or value.get("format") == "byte":
        return None
    return _ZEROS.get(published.get("type", ""))


def _with_default(published: Definition, default: Any) -> Definition:
    """In OpenAPI v3 a reference bears no default beside it."""
    if "$ref" in published:
        return {"allOf": [published], "default": default}
    return {**published, "default": default}


def _value(value: Definition, prefix: str) -> Definition:
    """A type written in place. A reference with a description beside it must be wrapped: v3 readers drop siblings."""
    published = {key: item for key, item in value.items() if key not in (*_DROPPED, "$ref", "items")}
    if "$ref" in value:
        target = {"$ref": value["$ref"].replace(REF_PREFIX, prefix)}
        return {**published, "allOf": [target]} if published and prefix == COMPONENTS else {**published, **target}
    if "type" in value:
        published["type"] = _single(value["type"])
    if "items" in value:
        published["items"] = _value(value["items"], prefix)
    if isinstance(value.get("additionalProperties"), dict):
        published["additionalProperties"] = _value(value["additionalProperties"], prefix)
    return published


def _references(definition: Any) -> Iterator[str]:
    if isinstance(definition, dict):
        for key, value in definition.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF_PREFIX)
            elif key != "description":
                yield from _references(value)
    elif isinstance(definition, list):
        for item in definition:
            yield from _references(item)


def _single(declared: str | list[str]) -> str:
    return declared if isinstance(declared, str) else next(name for name in declared if name != "null")
