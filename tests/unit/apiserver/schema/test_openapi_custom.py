"""The published schemas of custom resources."""

from __future__ import annotations

from typing import Any

from apiserver.schema.definitions import Schema
from apiserver.schema.openapi import DEFINITIONS
from apiserver.schema.openapi_custom import CustomSchemas
from apiserver.schema.openapi_paths import COMPONENTS, ServedKind

EITHER = [{"type": "integer"}, {"type": "string"}]
FIELDS: dict[str, Any] = {
    "port": {"x-kubernetes-int-or-string": True},
    "share": {"x-kubernetes-int-or-string": True, "anyOf": [{"pattern": "%"}, {"minimum": 1}]},
    "inner": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    "maybe": {"type": "array", "items": {"type": "string"}, "nullable": True, "default": ["a"]},
    "plain": {"type": "string", "default": "a", "oneOf": [{"minLength": 1}]},
}


def published(schema: dict[str, Any], prefix: str) -> dict[str, Any]:
    kind = ServedKind(
        "example.com", "v1", "Widget", "widgets", True, (), schema=schema, list_kind="Widgets", selectable=("spec.a",)
    )
    return CustomSchemas(Schema.load("1.36").described(), prefix).of(kind, "Widget", "Widgets")


def test_what_every_object_has_is_added() -> None:
    """At the top and in embedded objects, with references to the metadata of all kinds; lists have their own name."""
    schemas = published(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}, COMPONENTS
    )

    widget, widgets = schemas["Widget"], schemas["Widgets"]
    spec = widget["properties"]["spec"]["properties"]
    assert {"spec", "apiVersion", "kind", "metadata"} == widget["properties"].keys()
    reference = [{"$ref": f"{COMPONENTS}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    assert reference == widget["properties"]["metadata"]["allOf"] == spec["inner"]["properties"]["metadata"]["allOf"]
    assert ["kind", "apiVersion"] == spec["inner"]["required"]
    assert EITHER == spec["port"]["anyOf"]
    assert [{"anyOf": EITHER}] == spec["share"]["allOf"]
    assert [{"fieldPath": "spec.a"}] == widget["x-kubernetes-selectable-fields"]
    assert [{"group": "example.com", "version": "v1", "kind": "Widgets"}] == widgets["x-kubernetes-group-version-kind"]
    assert {"$ref": f"{COMPONENTS}Widget"} == widgets["properties"]["items"]["items"]
    assert "Widgets is a list of Widget" == widgets["description"]


def test_the_second_version_knows_less() -> None:
    """No alternatives and defaults; what may be null or anything has no type."""
    schema = {"type": "object", "required": ["maybe", "plain"], "properties": FIELDS}

    widget = published(schema, DEFINITIONS)["Widget"]

    fields = widget["properties"]
    assert {"type": "string"} == fields["plain"]
    assert {} == fields["maybe"]
    assert {"x-kubernetes-int-or-string": True} == fields["share"]
    assert "type" not in fields["inner"] and "properties" not in fields["inner"]
    assert ["plain"] == widget["required"]
    assert {"$ref", "description"} == fields["metadata"].keys()


def test_open_kinds_have_no_fields_in_the_second_version() -> None:
    """Or clients would take all others for mistakes."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": FIELDS}

    widget = published(schema, DEFINITIONS)["Widget"]

    assert ("object", False) == (widget["type"], "properties" in widget)
