"""Values against structural schemas."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.structural_validation import check_value
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object


def field_schema(part: Object) -> Object:
    """A schema whose field x is `part`."""
    return {"type": "object", "properties": {"x": part}}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        ({"type": "integer", "minimum": 2}, 1, ["x: Invalid value: 1: x in body should be greater than or equal to 2"]),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True, "multipleOf": 0.5},
            0,
            [
                "x: Invalid value: 0: factor MultipleOf declared for x must be positive: 0",
                "x: Invalid value: 0: x in body should be greater than 0",
            ],
        ),
        ({"type": "number", "multipleOf": 0.5}, 0.7, ["x: Invalid value: 0.7: x in body should be a multiple of 0.5"]),
        (
            {"type": "integer", "minimum": 2},
            2.5,
            [
                'x: Invalid value: "number": x in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
            ],
        ),
        ({"type": "string", "minLength": 2}, "a", ['x: Invalid value: "a": x in body should be at least 2 chars long']),
        ({"type": "string", "maxLength": 1}, "ab", ["x: Too long: may not be more than 1 byte"]),
        (
            {"type": "string", "pattern": "^[a-z]*$"},
            "A",
            ["x: Invalid value: \"A\": x in body should match '^[a-z]*$'"],
        ),
        (
            {"type": "string", "format": "date-time"},
            "soon",
            ['x: Invalid value: "soon": x in body must be of type date-time: "soon"'],
        ),
        ({"type": "string", "format": "odd"}, "soon", []),
        ({"enum": ["a", 1]}, "b", ['x: Unsupported value: "b": supported values: "a", "1"']),
        (
            {"type": "array", "minItems": 1, "items": {"type": "string"}},
            [],
            ["x: Invalid value: 0: x in body should have at least 1 items"],
        ),
        (
            {"type": "array", "items": {"type": "string"}},
            ["a", 1],
            ['x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer"'],
        ),
        ({"type": "object", "required": ["k"]}, {}, ["x.k: Required value"]),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, ["x: Too many: 2: must have at most 1 item"]),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"a": "b"},
            ['x.a: Invalid value: "string": x.a in body must be of type integer: "string"'],
        ),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
        ),
        ({"type": "string", "nullable": True}, None, []),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            None,
            ['x: Unsupported value: null: supported values: "a"'],
        ),
        (
            {"type": "integer", "format": "int32"},
            1 << 31,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
        ),
        (
            {"type": "integer", "format": "int32"},
            True,
            ['x: Invalid value: "": x in body must be of type int32: ""'],
        ),
        (
            {"type": "string", "format": "date"},
            5,
            ['x: Invalid value: "int64": x in body must be of type date: "int64"'],
        ),
        ({"type": "string", "format": "date"}, ["a"], []),
        (
            {"type": "integer", "maximum": 1.5},
            2,
            [
                '<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in x',
                "x: Invalid value: 2: x in body should be less than or equal to 1.5",
            ],
        ),
        ({"type": "number", "maximum": 1.5}, 2, ["x: Invalid value: 2: x in body should be less than or equal to 1"]),
        (
            {"type": "integer", "multipleOf": 0.5},
            1,
            ['<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in x'],
        ),
        ({"type": "number", "enum": [1, 2]}, 1.5, []),
        (
            {"type": "number", "maximum": 1000000},
            1e7 + 0.5,
            ["x: Invalid value: 1.00000005e+07: x in body should be less than or equal to 1e+06"],
        ),
        (
            {"type": "string", "maxLength": 1, "minLength": 3, "pattern": "^a"},
            "bb",
            ["x: Too long: may not be more than 1 byte"],
        ),
        (
            {"type": "object", "minProperties": 3, "required": ["k"]},
            {"a": 1},
            ["x: Invalid value: 1: x in body should have at least 3 properties", "x.k: Required value"],
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"a": 1},
            ['x: Invalid value: "a": x.a in body is a forbidden property'],
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "anyOf": [{"required": ["a"]}, {"properties": {"b": {"minimum": 3}}}, {"required": ["c"]}],
            },
            {"b": 1},
            [
                '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
                "x.b: Invalid value: 1: x.b in body should be greater than or equal to 3",
            ],
        ),
        (
            {"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 5}], "not": {"enum": [1]}},
            1,
            [
                "x: Invalid value: 1: x in body should be greater than or equal to 2",
                '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
                '<nil>: Invalid value: "": "x" must not validate the schema (not)',
            ],
        ),
        (
            {"type": "integer", "minimum": 3, "allOf": [{"minimum": 3}]},
            1,
            [
                "x: Invalid value: 1: x in body should be greater than or equal to 3",
                '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {"type": "integer", "oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
    ],
)
def test_values(schema: Object, value: Any, errors: list[str]) -> None:
    """Values are refused in the words of the real validator."""
    found: list[FieldError] = []

    check_value({"x": value}, field_schema(schema), "", found)

    assert errors == [str(error) for error in found]


@pytest.mark.timeout(60)
def test_patterns_end() -> None:
    """No pattern of a schema keeps the server busy."""
    found: list[FieldError] = []
    text = "a" * 40 + "!"

    check_value({"x": text}, field_schema({"type": "string", "pattern": "^(a+)+$"}), "", found)

    assert [f"x: Invalid value: \"{text}\": x in body should match '^(a+)+$'"] == [str(error) for error in found]


ITEMS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 3}}},
}


@pytest.mark.parametrize(
    ("schema", "old", "new", "errors"),
    [
        ({"type": "integer", "minimum": 3}, 1, 1, []),
        (
            {"type": "integer", "minimum": 3},
            1,
            2,
            ["x: Invalid value: 2: x in body should be greater than or equal to 3"],
        ),
        (ITEMS, [{"k": "a", "v": 1}, {"k": "b", "v": 2}], [{"k": "b", "v": 2}, {"k": "a", "v": 1}], []),
        (
            ITEMS,
            [{"k": "a", "v": 1}],
            [{"k": "b", "v": 1}, {"k": "a", "v": 1}],
            ["x[0].v: Invalid value: 1: x[0].v in body should be greater than or equal to 3"],
        ),
        (
            {"type": "array", "items": {"type": "integer", "minimum": 3}},
            [1],
            [1, 4],
            ["x[0]: Invalid value: 1: x[0] in body should be greater than or equal to 3"],
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "required": ["a"]},
            {"b": 1},
            {"b": 1},
            ["x.a: Required value"],
        ),
    ],
)
def test_ratcheting(schema: Object, old: Any, new: Any, errors: list[str]) -> None:
    """What was wrong before may stay, where its old value can be told by the schema."""
    found: list[FieldError] = []

    check_value({"x": new, "y": 1}, field_schema(schema), "", found, {"x": old})

    assert errors == [str(error) for error in found]
