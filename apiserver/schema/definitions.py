"""Schema: the OpenAPI definitions of one Kubernetes minor version, as TypeNodes and codecs.

The definitions come with the package `kubernetes-validate` (one file a version). Loading keeps only what types need;
descriptions are read again from the file when an OpenAPI document asks for them (`described`). Nodes and codecs are
made on first use of a kind, so start-up pays for none of them. handlers and registry hold one Schema for the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from apiserver.schema.codec import Codec
from apiserver.schema.compiler import Compiler
from apiserver.schema.go_fields import GoField, go_fields
from apiserver.schema.nodes import Fields, Omit, TypeNode
from apiserver.schema.ordering import OrderChanged, Orderings
from kubeloop.apimachinery.releases import DEFAULT, git_version, release

Definition = Mapping[str, Any]
GroupVersionKind = tuple[str, str, str]

REF_PREFIX = "#/$defs/"

# Definitions whose JSON form is not what their OpenAPI type suggests.
_WELL_KNOWN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "schema-or-list",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_JSON_SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


class Schema:
    """The types of one Kubernetes version."""

    def __init__(self, version: str, definitions: dict[str, Definition]) -> None:
        self.version = version
        self._definitions = definitions
        self._names = dict(_kinds_of(definitions))
        self._nodes: dict[str, TypeNode] = {}
        self._fields: dict[str, Fields] = {}
        self._compiler = Compiler()
        self._orderings = Orderings()
        self._codecs: dict[GroupVersionKind, Codec] = {}

    @classmethod
    def load(cls, version: str = DEFAULT) -> Schema:
        """The schema of one of RELEASES."""
        definitions = _read(version)
        for definition in definitions.values():
            definition.pop("description", None)
            for value in definition.get("properties", {}).values():
                value.pop("description", None)
        return cls(version, definitions)

    def described(self) -> dict[str, Any]:
        """All definitions as shipped, with descriptions: a fresh copy, which the caller may change and drop."""
        return _read(self.version)

    def definition_name(self, group: str, version: str, kind: str) -> str:
        """The name of the definition behind a kind, or ""."""
        return self._names.get((group, version, kind), "")

    def kind(self, group: str, version: str, kind: str) -> TypeNode | None:
        """The type of a kind, None where this version has no such kind."""
        name = self.definition_name(group, version, kind)
        return self.node(name) if name else None

    def node(self, name: str) -> TypeNode:
        """The type behind a definition's name."""
        if name not in self._nodes:
            self._nodes[name] = self._make_node(name)
        return self._nodes[name]

    def codec(self, group: str, version: str, kind: str) -> Codec:
        """The codec of a kind, compiled on first use; KeyError where this version has no such kind."""
        key = (group, version, kind)
        if key not in self._codecs:
            node = self.kind(group, version, kind)
            if node is None:
                raise KeyError(key)
            self._codecs[key] = Codec(node, self._compiler)
        return self._codecs[key]

    def order(self, group: str, version: str, kind: str) -> OrderChanged:
        """What puts an object of a kind into the order the real server writes it in."""
        node = self.kind(group, version, kind)
        return self._orderings.of_changed(node) if node else lambda obj, known: obj

    def metadata_codec(self) -> Codec:
        """The codec of ObjectMeta, by which custom resources' metadata is read."""
        return Codec(self.node(_OBJECT_META), self._compiler)

    def _make_node(self, name: str) -> TypeNode:
        definition = self._definitions[name]
        go_type = _go_name(name)
        if special := _WELL_KNOWN.get(name):
            items = self.node(_JSON_SCHEMA_PROPS) if special.startswith("schema-or-") else None
            return TypeNode(type=special, name=name, go_type=go_type, items=items)
        return TypeNode(
            type="object",
            name=name,
            go_type=go_type,
            map_type=definition.get("x-kubernetes-map-type", ""),
            required=tuple(definition.get("required", ())),
            _source=partial(self._fields_of, name),
        )

    def _fields_of(self, name: str) -> Fields:
        if name not in self._fields:
            definition = self._definitions[name]
            go = go_fields(name)
            required = frozenset(definition.get("required", ()))
            properties = definition.get("properties", {})
            in_go_order = [key for key in go if key in properties] + [key for key in properties if key not in go]
            self._fields[name] = {
                key: self._field(properties[key], go.get(key) or _guessed(properties[key], key in required))
                for key in in_go_order
            }
        return self._fields[name]

    def _field(self, value: Definition, go: GoField) -> TypeNode:
        node = self._typed(value, go.type)
        return node.with_marks(
            merge_key=value.get("x-kubernetes-patch-merge-key", ""),
            patch_strategies=tuple(filter(None, value.get("x-kubernetes-patch-strategy", "").split(","))),
            list_type=value.get("x-kubernetes-list-type", ""),
            list_map_keys=tuple(value.get("x-kubernetes-list-map-keys", ())),
            map_type=value.get("x-kubernetes-map-type", node.map_type),
            go_type=go.type or node.go_type,
            is_pointer=go.is_pointer,
            omit=go.omit,
            embedded=go.embedded,
            default=go.default,
        )

    def _typed(self, value: Definition, go_type: str) -> TypeNode:
        """The node of a type written in place, whose elements take their Go types from that of the whole."""
        if "$ref" in value:
            return self.node(value["$ref"].removeprefix(REF_PREFIX))
        kind = _single(value.get("type"))
        if kind == "array":
            # A named list type (v1.ExtraValue) does not say what its elements are.
            items = self._typed(value["items"], go_type[2:] if go_type.startswith("[]") else "")
            return TypeNode(type="list", items=items, go_type=go_type or f"[]{items.go_type}")
        if kind == "object":
            values = self._typed(value.get("additionalProperties") or {}, go_type.partition("]")[2])
            return TypeNode(type="map", values=values, go_type=go_type or f"map[string]{values.go_type}")
        if value.get("format") == "byte":
            return TypeNode(type="bytes", go_type=go_type or "[]uint8")
        format_ = value.get("format", "")
        return TypeNode(type=kind, format=format_, go_type=go_type or _GO_SCALARS.get(format_ or kind, kind))


_GO_SCALARS = {"double": "float64", "boolean": "bool", "integer": "int64", "number": "float64"}


def _guessed(value: Definition, is_required: bool) -> GoField:
    """The usual habits of the API's Go types, for structs the table does not list: optional structs are pointers."""
    is_struct = "$ref" in value
    omit = Omit.NEVER if is_required else Omit.EMPTY
    return GoField(type="", is_pointer=is_struct and not is_required, omit=omit, embedded=())


def _single(declared: str | list[str] | None) -> str:
    """The one type of `["string", "null"]`; values of no declared type are any JSON."""
    if declared is None:
        return "any"
    return declared if isinstance(declared, str) else next(name for name in declared if name != "null")


def _go_name(definition: str) -> str:
    """`v1.Container` of io.k8s.api.core.v1.Container."""
    return ".".join(definition.rsplit(".", 2)[-2:])


def _kinds_of(definitions: Mapping[str, Definition]) -> Iterator[tuple[GroupVersionKind, str]]:
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            yield (kind["group"], kind["version"], kind["kind"]), name


def _read(version: str) -> dict[str, Any]:
    definitions: dict[str, Any] = orjson.loads(_file(version).read_bytes())["$defs"]
    return definitions


def _file(version: str) -> Path:
    """The definitions' file, found without importing the package, whose import costs more than reading the file."""
    minor = release(version)
    package = find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        raise RuntimeError(
            "the package kubernetes-validate, which ships Kubernetes' OpenAPI definitions, is not installed"
        )
    return Path(package.origin).parent / "kubernetes-json-schema" / f"{git_version(minor)}-local" / "_definitions.json"
