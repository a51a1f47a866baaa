"""What rules cost at worst: the numbers by which the real server accepts and refuses definitions."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.cel.cost.estimate import estimated_cost
from kubeloop.cel.cost.sizes import sizes_of
from kubeloop.cel.environment import Environment
from kubeloop.cel.schema_types import type_of
from kubeloop.cel.types import DYN

Schema = dict[str, Any]
FORMATS = {"duration", "date", "date-time"}


def of(kind: str) -> Schema:
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    return {"type": "string", "format": kind} if kind in FORMATS else {"type": kind}


def bound(schema: Schema, name: str, most: int | None) -> Schema:
    return schema if most is None else {**schema, name: most}


def array(items: Schema, most: int | None) -> Schema:
    return bound({"type": "array", "items": items}, "maxItems", most)


def mapping(values: Schema, most: int | None) -> Schema:
    return bound({"type": "object", "additionalProperties": values}, "maxProperties", most)


def text(most: int | None, **more: Any) -> Schema:
    return bound({"type": "string", **more}, "maxLength", most)


OBJECT: Schema = {
    "type": "object",
    "required": ["required"],
    "properties": {"required": {"type": "string"}, "optional": {"type": "string"}},
}


def replaceable(most: int | None) -> Schema:
    return {"type": "object", "properties": {"str": text(most), "before": text(2), "after": text(4)}}


SCHEMAS: dict[str, Any] = {
    "map of maps": lambda most: array(mapping(bound(OBJECT, "maxProperties", most), most), most),
    "map of unbounded maps": lambda most: array(mapping(OBJECT, most), None),
    "objects": lambda most: array(OBJECT, most),
    "nested arrays": lambda most: array(array(of("number"), None), most),
    "arrays of maps": lambda most: array(mapping(of("number"), None), most),
    "text": text,
    "bytes": lambda most: text(most, format="byte"),
    "texts": lambda most: array(text(most), most),
    "map of texts": lambda most: mapping(text(most), most),
    "map of objects": lambda most: mapping(OBJECT, most),
    "map of numbers": lambda most: mapping(mapping(of("number"), None), most),
    "map of arrays": lambda most: mapping(array(of("number"), None), most),
    "replaceable": replaceable,
    "splittable": lambda most: {"type": "object", "properties": {"str": text(most), "separator": text(most)}},
    "chosen": lambda most: text(most, enum=["A", "B", "C", "LongValue"]),
    "int-or-string": lambda most: bound({"x-kubernetes-int-or-string": True}, "maxLength", most),
    **{
        f"{kind}[]": lambda most, kind=kind: array(of(kind), most) for kind in ("number", "string", "boolean", *FORMATS)
    },
    **{
        f"{kind}{{}}": lambda most, kind=kind: mapping(of(kind), most)
        for kind in ("number", "string", "boolean", "integer", "int-or-string", *FORMATS)
    },
    "int-or-string[]": lambda most: array(of("int-or-string"), most),
}


def cost(schema: Schema, rule: str) -> int:
    type_ = type_of(schema) or DYN
    return estimated_cost(Environment({"self": type_, "oldSelf": type_}).compile(rule).tree, sizes_of(schema))


@pytest.mark.parametrize(
    ("schema", "rule", "unbounded", "most", "bounded"),
    [
        ("number[]", "self.all(x, true)", 4718591, 10, 32),
        ("string[]", "self.all(x, true)", 3145727, 20, 62),
        ("boolean[]", "self.all(x, true)", 1887437, 5, 17),
        ("nested arrays", "self.all(x, true)", 3145727, 100, 302),
        ("objects", "self.all(x, true)", 555128, 50, 152),
        ("number{}", "self.all(x, true)", 1348169, 10, 32),
        ("string{}", "self.all(x, true)", 1179647, 3, 11),
        ("boolean{}", "self.all(x, true)", 943718, 100, 302),
        ("text", "self.contains('test')", 314574, 10, 5),
        ("text", "self.startsWith('test')", 2, 15, 2),
        ("text", "self.endsWith('test')", 2, 30, 2),
        ("text", 'size(self + "hello") > size("hello")', 314578, 4, 7),
        ("number[]", "self[1] == 0.0", 2, 5000, 2),
        ("string[]", "self[1] == self[1]", 314577, 8, 314577),
        ("number[]", "self.all(x, self.all(y, true))", 7421701914624, 10, 352),
        ("number[]", "self.all(x, self.all(y, self.all(z, true)))", 11673320338545967103, 10, 3552),
        ("text", 'self.matches("x")', 314574, 50, 22),
        ("text", '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
        ("text", 'self.matches("")', 1, 100, 1),
        ("map of texts", "self.all(x, x.contains(self[x]))", 2752507, 10, 72),
        ("number[]", "self[3] == 0.0", 2, 0, 2),
        ("number{}", 'self["x"] == 0.0', 2, 0, 2),
        ("text", 'self == "x"', 2, 0, 1),
        ("bytes", 'self == b"x"', 2, 0, 1),
        ("number[]", "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
        ("map of maps", 'self.all(x, x["y"].required == "z")', 7340027, 10, 72),
        ("map of unbounded maps", 'self.all(x, x["y"].required == "z")', 7340027, 10, 7340027),
        ("int-or-string[]", "self.all(x, true)", 4718591, 10, 32),
        ("int-or-string[]", "self[0] == 5", 3, 10, 3),
        ("boolean[]", "self[0] == false", 2, 25, 2),
        ("objects", "self[0] == null", 2, 422, 2),
        ("nested arrays", "self[0][0] == -1.0", 3, 51, 3),
        ("arrays of maps", "self.all(x, x.y == 25.2)", 6291452, 12, 74),
        ("arrays of maps", "self[0].x > 2.0", 4, 3000, 4),
        ("duration[]", "self.all(x, true)", 2359295, 5, 17),
        ("duration[]", "self[0].getHours() == 2", 4, 525, 4),
        ("date[]", "self.all(x, true)", 725936, 15, 47),
        ("date[]", "self[2].getDayOfMonth() == 13", 4, 42, 4),
        ("date-time[]", "self.all(x, true)", 428963, 25, 77),
        ("date-time[]", "self[2].getMinutes() == 45", 4, 99, 4),
        ("int-or-string{}", "self.all(x, true)", 1348169, 15, 47),
        ("map of objects", "self.all(x, true)", 428963, 20, 62),
        ("map of numbers", "self.all(x, true)", 1179647, 10, 32),
        ("map of arrays", "self.all(x, true)", 1179647, 25, 77),
        ("duration{}", "self.all(x, true)", 1048577, 5, 17),
        ("date{}", "self.all(x, true)", 524288, 10, 32),
        ("date-time{}", "self.all(x, true)", 349526, 25, 77),
        ("text", "self.find('[0-9]+') == ''", 629147, 10, 11),
        ("texts", "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
        ("texts", "self.isSorted() == true", 329854432052, 10, 52),
        ("replaceable", "self.str.replace(self.before, self.after) == 'does not matter'", 629154, 4, 12),
        ("splittable", "self.str.split(self.separator) == []", 629160, 10, 22),
        ("text", "self.lowerAscii() == 'lower!'", 314575, 10, 6),
        ("integer{}", "oldSelf.size() == self.size()", 5, 10, 5),
        ("date-time{}", 'self["a"] == self["b"]', 8, 7, 8),
        ("duration{}", 'self["c"] == self["d"]', 8, 42, 8),
        ("chosen", "self.contains('A')", 2, 1000, 401),
        ("int-or-string", "isQuantity(self)", 314574, 20, 9),
        ("number{}", "has(self.x)", 1, 100, 1),
    ],
)
def test_costs(schema: str, rule: str, unbounded: int, most: int, bounded: int) -> None:
    """Without bounds a value is as long as a request; with them as long as they let it be."""
    make = SCHEMAS[schema]

    assert (unbounded, bounded) == (cost(make(None), rule), cost(make(most), rule))
