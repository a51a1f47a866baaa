"""One version of a custom kind as a type: decoding, defaults, and what the schema says beyond single values."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.custom_type import CustomType
from apiserver.schema.definitions import Schema
from apiserver.schema.explanation import DecodeError
from kubeloop.apimachinery.meta import Object

METADATA = Schema.load().metadata_codec()
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def a_type(**fields: Object) -> CustomType:
    spec = {"type": "object", "properties": fields}
    return CustomType({"type": "object", "properties": {"spec": spec}}, METADATA)


def a_widget(**spec: Any) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def test_coercion() -> None:
    """Unknown fields go and are listed, nulls that are not allowed go silently, whole numbers lose their fraction."""
    widget = a_widget(a="x", b=1, gone=None, n=2.0)
    widget["metadata"]["odd"] = 1

    obj, unknown = a_type(a=TEXT, gone=TEXT, n={"type": "number"}).coerce({**widget, "status": {}})

    assert ({"a": "x", "n": 2}, ["metadata.odd", "spec.b", "status"]) == (obj["spec"], unknown)
    assert isinstance(obj["spec"]["n"], int)


def test_nulls_of_an_apply_are_left_to_validation() -> None:
    """Where no type could refuse them they go as they always do, and an int-or-string is of a type."""
    either, free = {"x-kubernetes-int-or-string": True}, {"x-kubernetes-preserve-unknown-fields": True}
    widget = a_widget(a=None, n=None, either=None, free=None)

    obj, _ = a_type(a=TEXT, n=NUMBER, either=either, free=free).coerce(widget, keeps_nulls=True)

    assert {"a": None, "n": None, "either": None} == obj["spec"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {"a": "x"}),
        ({"a": None}, {"a": "x"}),
        ({"a": ""}, {"a": ""}),
        ({"deep": {}}, {"a": "x", "deep": {"k": 1}}),
        ({"map": {"m": {}}}, {"a": "x", "map": {"m": {"k": 1}}}),
    ],
)
def test_defaults(value: Object, expected: Object) -> None:
    """Defaults fill what is absent or null, inside of what is there, and share nothing with the schema."""
    deep = {"type": "object", "properties": {"k": {**NUMBER, "default": 1}}}
    widgets = a_type(a={**TEXT, "default": "x"}, deep=deep, map={"type": "object", "additionalProperties": deep})
    obj = a_widget(**value)

    widgets.fill_defaults(obj)

    assert expected == obj["spec"]


@pytest.mark.parametrize(
    ("keys", "value", "errors"),
    [
        ([], ["a", "b", "a", "a"], ['spec.l[2]: Duplicate value: "a"']),
        (["k"], [{"k": 1}, {"k": 1, "v": 2}], ['spec.l[1]: Duplicate value: {"k":1}']),
        (["k", "j"], [{"k": 1, "j": 1}, {"k": 1}], []),
    ],
)
def test_unique_lists(keys: list[str], value: list[Any], errors: list[str]) -> None:
    """Sets hold a value once, maps a key; what was wrong before an update may stay."""
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys} if keys else {}
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    listed = {"type": "array", "items": anything, "x-kubernetes-list-type": "set", **kind}
    widgets = a_type(l=listed)

    assert errors == [str(error) for error in widgets.errors(a_widget(l=value))]
    assert [] == widgets.errors(a_widget(l=value), a_widget(l=value))


def test_ratcheting() -> None:
    """On an update only what changed is checked anew."""
    widgets = a_type(a={**TEXT, "maxLength": 2}, b=TEXT)

    errors = [
        widgets.errors(a_widget(a="long", b="new"), a_widget(a="long", b="old")),
        widgets.errors(a_widget(a="longer"), a_widget(a="long")),
    ]

    assert [[], ["spec.a: Too long: may not be more than 2 bytes"]] == [[str(e) for e in found] for found in errors]


def test_embedded_objects() -> None:
    """An embedded object has its own kind and metadata: kept, decoded and checked."""
    widgets = a_type(
        tpl={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}
    )

    obj, unknown = widgets.coerce(a_widget(tpl={"kind": "Pod", "metadata": {"name": "x", "odd": 1}, "spec": {}}))

    assert ["spec.tpl.metadata.odd"] == unknown
    assert ["spec.tpl.apiVersion: Required value"] == [str(error) for error in widgets.errors(obj)]
    with pytest.raises(DecodeError, match=r"spec\.tpl\.metadata: Invalid value"):
        widgets.coerce(a_widget(tpl={"kind": "Pod", "metadata": {"labels": {"a": 1}}}))


def test_whole_numbers_beyond_64_bits_stay_floats() -> None:
    """As integers they could not be written again."""
    custom = CustomType({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, METADATA)

    coerced, _ = custom.coerce({"apiVersion": "a/v1", "kind": "A", "metadata": {}, "n": 1e20})

    assert float is type(coerced["n"])
