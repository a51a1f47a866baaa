"""The schemas of custom resources in the OpenAPI documents: the definition's own, and what every object has.

`openapi` calls it. Facts: apiextensions-apiserver/pkg/controller/openapi (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.schema.openapi_paths import COMPONENTS, ServedKind
from kubeloop.apimachinery.json_schema import (
    EMBEDDED,
    INT_OR_STRING,
    PRESERVE,
    Schema,
    additional_of,
    items_of,
    properties_of,
)

Json = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_NOT_IN_V2 = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default"})
_INT_OR_STRING = ({"type": "integer"}, {"type": "string"})
_EMBEDDED_DESCRIPTIONS = {
    "apiVersion": (
        "apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {_CONVENTIONS}#resources"
    ),
    "kind": (
        "kind is a string value representing the type of this object. In CamelCase. "
        f"More info: {_CONVENTIONS}#types-kinds"
    ),
}


class CustomSchemas:
    """`prefix` is where references lead: to components (v3) or definitions (v2).

    Descriptions of what every object has are taken from the shipped definitions.
    """

    def __init__(self, definitions: Mapping[str, Json], prefix: str) -> None:
        self._definitions, self._prefix = definitions, prefix
        self._is_v2 = prefix != COMPONENTS

    def of(self, kind: ServedKind, name: str, list_name: str) -> dict[str, Json]:
        """The schemas of a kind and of its list, by their names."""
        return {name: self._object(kind), list_name: self._list(kind, name)}

    def _object(self, kind: ServedKind) -> Json:
        schema = kind.schema or {}
        if self._is_v2 and schema.get(PRESERVE):
            # With any property here, kubectl would take all others for mistakes.
            return {"type": "object", **_marked(kind, kind.kind)}
        published = self._published(_as_v2(schema) if self._is_v2 else schema)
        known = {**self._type_meta(), "metadata": self._reference("ObjectMeta", "ConfigMap")}
        return {
            **published,
            "properties": {**properties_of(published), **known},
            **_marked(kind, kind.kind),
        }

    def _list(self, kind: ServedKind, name: str) -> Json:
        return {
            "description": f"{kind.list_name} is a list of {kind.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                **self._type_meta(),
                "metadata": self._reference("ListMeta", "PodList"),
                "items": {
                    "description": f"List of {kind.plural}. More info: {_CONVENTIONS}",
                    "type": "array",
                    "items": {"$ref": f"{self._prefix}{name}"},
                },
            },
            **_marked(kind, kind.list_name),
        }

    def _published(self, schema: Schema) -> Json:
        """With the fields of embedded objects, and int-or-string spelled out."""
        made: Json = dict(schema)
        if properties := properties_of(schema):
            made["properties"] = {key: self._published(part) for key, part in properties.items()}
        if (items := items_of(schema)) is not None:
            made["items"] = self._published(items)
        if (additional := additional_of(schema)) is not None:
            made["additionalProperties"] = self._published(additional)
        if schema.get(INT_OR_STRING) and not self._is_v2:
            _spell_out(made)
        if schema.get(EMBEDDED) and not (self._is_v2 and schema.get(PRESERVE)):
            known = {
                key: {"type": "string", "description": description}
                for key, description in _EMBEDDED_DESCRIPTIONS.items()
            }
            known["metadata"] = self._reference("ObjectMeta", "ConfigMap")
            made["properties"] = {**(made.get("properties") or {}), **known}
            required = schema.get("required") or []
            made["required"] = [*required, *(key for key in ("kind", "apiVersion") if key not in required)]
        return made

    def _type_meta(self) -> Json:
        return {
            key: {"type": "string", "description": self._description("ConfigMap", key)}
            for key in ("apiVersion", "kind")
        }

    def _reference(self, metadata: str, described_by: str) -> Json:
        target = {"$ref": f"{self._prefix}{_META}.{metadata}"}
        description = {"description": self._description(described_by, "metadata")}
        return {**description, **target} if self._is_v2 else {"allOf": [target], **description}

    def _description(self, kind: str, name: str) -> str:
        text: str = self._definitions[f"io.k8s.api.core.v1.{kind}"]["properties"][name]["description"]
        return text


def _marked(kind: ServedKind, name: str) -> Json:
    marks: Json = {"x-kubernetes-group-version-kind": [{"group": kind.group, "version": kind.version, "kind": name}]}
    if kind.selectable:
        marks["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in kind.selectable]
    return marks


def _spell_out(schema: Json) -> None:
    either = list(_INT_OR_STRING)
    all_of = schema.get("allOf") or []
    if schema.get("anyOf") == either or (all_of and all_of[0].get("anyOf") == either):
        return
    if schema.get("anyOf"):
        schema["allOf"] = [{"anyOf": either}, *all_of]
    else:
        schema["anyOf"] = either


def _as_v2(schema: Schema) -> Json:
    """Without what v2 does not know; kubectl stumbles over fields of what may be null or anything."""
    made = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    is_open, is_nullable = bool(schema.get(PRESERVE)), bool(schema.get("nullable"))
    if is_open or is_nullable:
        made.pop("items", None)
        made.pop("properties", None)
    if (
        is_nullable
        or (made.get("type") == "array" and "items" not in made)
        or (is_open and made.get("type") == "object")
    ):
        made.pop("type", None)
    if properties := properties_of(made):
        made["properties"] = {key: _as_v2(part) for key, part in properties.items()}
        if "required" in made:
            made["required"] = [key for key in made["required"] if not properties.get(key, {}).get("nullable")]
    if (items := items_of(made)) is not None:
        made["items"] = _as_v2(items)
    if (additional := additional_of(made)) is not None:
        made["additionalProperties"] = _as_v2(additional)
        if additional.get("nullable"):
            made.pop("required", None)
    if not made.get("required", True):
        del made["required"]
    return made
