"""Schemas without references."""

from __future__ import annotations

from controllers.policy_types.schemas import complete
from kubeloop.apimachinery.json_schema import Schema


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def test_references_are_replaced() -> None:
    """In fields, lists and maps, also where more is said beside them."""
    schemas: dict[str, Schema] = {
        "Pod": {
            "type": "object",
            "properties": {
                "one": {"description": "x", "allOf": [ref("Part")], "default": {}},
                "many": {"type": "array", "items": ref("Part")},
                "named": {"type": "object", "additionalProperties": ref("Part")},
            },
        },
        "Part": {"type": "string"},
    }

    text = {"type": "string"}
    expected = {
        "type": "object",
        "properties": {
            "one": text,
            "many": {"type": "array", "items": text},
            "named": {"type": "object", "additionalProperties": text},
        },
    }
    assert expected == complete(schemas, "Pod")


def test_what_leads_back_to_itself_is_any_object() -> None:
    """Only there: the same schema twice beside each other is complete both times."""
    schemas: dict[str, Schema] = {
        "Tree": {"type": "object", "properties": {"left": ref("Tree"), "leaf": ref("Leaf"), "other": ref("Leaf")}},
        "Leaf": {"type": "integer"},
    }

    leaf = {"type": "integer"}
    assert {"left": {"type": "object"}, "leaf": leaf, "other": leaf} == complete(schemas, "Tree")["properties"]


def test_numbers_or_texts_are_marked() -> None:
    """As definitions of custom resources mark them; what is not published is nothing."""
    schemas: dict[str, Schema] = {"A": {"properties": {"port": {"format": "int-or-string"}, "lost": ref("Lost")}}}

    properties = complete(schemas, "A")["properties"]

    assert {"format": "int-or-string", "x-kubernetes-int-or-string": True} == properties["port"]
    assert {} == properties["lost"]
