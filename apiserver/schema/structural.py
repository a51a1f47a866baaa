"""TypeNodes of custom resources, from the structural schema a CustomResourceDefinition carries.

Server-side apply and the merge of lists by key need the same tree for them as for the built-in kinds. Types are not
Go's here: nothing is left out for being empty, and times and quantities are text. Pruning, defaulting and validation
of custom resources read the schema itself, not this tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from apiserver.schema.nodes import Fields, Omit, TypeNode

StructuralSchema = Mapping[str, Any]

_SCALARS = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
_STRING = TypeNode(type="string", go_type="string")


def custom_resource_node(schema: StructuralSchema, object_meta: TypeNode) -> TypeNode:
    """The type of whole objects: kind, apiVersion and metadata are known whatever the schema says."""
    return _embedded_resource(schema, object_meta)


def node_from_structural(schema: StructuralSchema, object_meta: TypeNode | None = None) -> TypeNode:
    """The type a structural schema describes; `object_meta` is the metadata of embedded resources."""
    if schema.get("x-kubernetes-int-or-string"):
        return TypeNode(type="int-or-string", **_marks(schema))
    if schema.get("x-kubernetes-embedded-resource") and object_meta is not None:
        return _embedded_resource(schema, object_meta)
    match schema.get("type"):
        case "array":
            return TypeNode(
                type="list", items=node_from_structural(schema.get("items") or {}, object_meta), **_marks(schema)
            )
        case "object":
            return _object(schema, object_meta, {})
        case scalar if scalar in _SCALARS:
            return TypeNode(type=_SCALARS[scalar], format=schema.get("format", ""), **_marks(schema))
        case _:
            return TypeNode(type="any", **_marks(schema))


def _embedded_resource(schema: StructuralSchema, object_meta: TypeNode) -> TypeNode:
    known = {"apiVersion": _STRING, "kind": _STRING, "metadata": object_meta}
    return _object(schema, object_meta, known)


def _object(schema: StructuralSchema, object_meta: TypeNode | None, known: Fields) -> TypeNode:
    properties: Mapping[str, StructuralSchema] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping) and not properties and not known:
        return TypeNode(type="map", values=node_from_structural(additional, object_meta), **_marks(schema))
    if not properties and not known and schema.get("x-kubernetes-preserve-unknown-fields"):
        return TypeNode(type="any", **_marks(schema))

    @cache
    def fields() -> Fields:
        return {key: node_from_structural(value, object_meta) for key, value in properties.items()} | dict(known)

    return TypeNode(type="object", _source=fields, **_marks(schema))


def _marks(schema: StructuralSchema) -> dict[str, Any]:
    return {
        "list_type": schema.get("x-kubernetes-list-type", ""),
        "list_map_keys": tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        "map_type": schema.get("x-kubernetes-map-type", ""),
        "required": tuple(schema.get("required") or ()),
        "default": schema.get("default"),
        "nullable": bool(schema.get("nullable")),
        "preserves_unknown_fields": bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        "omit": Omit.NEVER,
        "is_pointer": True,
    }
