"""Rules in CEL on custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.registry.custom.rules import Before, Run, rule_tree
from apiserver.schema.old_values import UNKNOWN
from kubeloop.apimachinery.meta import Object


def found(schema: Object, value: Any, old: Any = UNKNOWN) -> list[str]:
    tree = rule_tree({"type": "object", "properties": {"x": schema}}, is_root=True)
    assert tree is not None
    whole = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    before = UNKNOWN if old is UNKNOWN else {**whole, "x": old}
    return [str(error) for error in tree.errors({**whole, "x": value}, Before(before))]


def ruled(schema: Object, rule: str, **more: Any) -> Object:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


NUMBER, TEXT = {"type": "integer"}, {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (ruled(NUMBER, "self > 1"), 2, []),
        (ruled(NUMBER, "self > 1"), 1, ["x: Invalid value: 1: failed rule: self > 1"]),
        (ruled(NUMBER, "self > 1", message="too small"), 1, ["x: Invalid value: 1: too small"]),
        (
            ruled(NUMBER, "self > 1", message="m", messageExpression="'got ' + string(self)"),
            1,
            ["x: Invalid value: 1: got 1"],
        ),
        (ruled(NUMBER, "self > 1", reason="FieldValueRequired"), 1, ["x: Required value: failed rule: self > 1"]),
        (
            ruled(NUMBER, "1 / self > 0"),
            0,
            ['x: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0'],
        ),
        (ruled(NUMBER, "self == oldSelf"), 1, []),
        (ruled({"type": "number"}, "self < 1.5"), 1, []),
        (ruled({"type": "string", "format": "duration"}, "self > duration('1m')"), "5s", 1),
        ({"type": "array", "items": ruled(TEXT, "self != 'b'")}, ["a", "b"], 1),
        ({"type": "object", "additionalProperties": ruled(NUMBER, "self > 1")}, {"k": 1}, 1),
    ],
)
def test_new_values(schema: Object, value: Any, errors: Any) -> None:
    """A rule that does not hold says so where it stands, in the words and with the reason it gives."""
    assert errors in ((texts := found(schema, value)), len(texts))


def test_field_path() -> None:
    """fieldPath moves the error to the field that is to blame; objects are not shown."""
    schema = ruled({"type": "object", "properties": {"a": TEXT}}, "self.a != 'b'", fieldPath=".a")

    assert ["x.a: Invalid value: failed rule: self.a != 'b'"] == found(schema, {"a": "b"})


def test_transitions() -> None:
    """A rule about the old value runs where there is one; elements are found again by the keys of their list."""
    frozen = ruled(NUMBER, "self >= oldSelf", message="may not shrink")
    item = {"type": "object", "properties": {"name": TEXT, "v": frozen}}
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": item,
    }

    errors = found(
        schema, [{"name": "b", "v": 1}, {"name": "c", "v": 0}], [{"name": "a", "v": 9}, {"name": "b", "v": 2}]
    )

    assert ["x[0].v: Invalid value: 1: may not shrink"] == errors


def test_sets_and_maps_know_no_order() -> None:
    """A set or map list that was only reordered is equal to what it was."""
    rule = "self == oldSelf"
    item = {"type": "object", "properties": {"k": TEXT}}
    set_list = ruled({"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}, rule)
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    map_list = ruled({"type": "array", **keys, "items": item}, rule)

    counts = [
        len(found(set_list, ["a", "b"], ["b", "a"])),
        len(found(set_list, ["a", "b"], ["b", "c"])),
        len(found(map_list, [{"k": "a"}, {"k": "b"}], [{"k": "b"}, {"k": "a"}])),
    ]

    assert [0, 1, 0] == counts


def test_optional_old_self() -> None:
    """With optionalOldSelf a rule runs on creation too, when there is no old value."""
    schema = ruled(NUMBER, "oldSelf.hasValue() || self == 0", optionalOldSelf=True)

    assert [1, 0] == [len(found(schema, 5)), len(found(schema, 5, 4))]


def test_ratcheting() -> None:
    """What was wrong before and did not change is let be."""
    schema = {"type": "object", "properties": {"a": ruled(NUMBER, "self > 1"), "b": NUMBER}}

    assert [0, 1] == [len(found(schema, {"a": 0, "b": 2}, {"a": 0, "b": 1})), len(found(schema, {"a": 1}, {"a": 0}))]


def test_no_rules() -> None:
    """A schema without rules has no tree, so nothing is walked for it."""
    assert rule_tree({"type": "object", "properties": {"a": NUMBER}}, is_root=True) is None


def test_what_was_wrong_before_is_told_as_a_warning() -> None:
    """What a rule has against an unchanged value is kept apart; a failure to evaluate is an error."""
    rules = ["self > 1", "1 / (self - 1) > 5"]
    schema = {**NUMBER, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    tree = rule_tree({"type": "object", "properties": {"x": schema}})
    assert tree is not None
    run = Run()

    errors = [str(error) for error in tree.errors({"x": 1}, Before({"x": 1}), run=run)]

    assert ['x: Invalid value: "integer": division by zero evaluating rule: 1 / (self - 1) > 5'] == errors
    assert ["x: Invalid value: 1: failed rule: self > 1"] == [str(error) for error in run.ratcheted]


LOOP = "self.all(a, self.all(b, a != b || a == b))"


@pytest.mark.parametrize(
    ("length", "times", "errors"),
    [
        (100, 1, []),
        (
            600,
            1,
            [
                "x[0]: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
                f"validation rules will be run due to call cost exceeds limit for rule: {LOOP}"
            ],
        ),
        (
            250,
            20,
            [
                'x[17]: Invalid value: "array": validation failed due to running out of cost budget, no further '
                "validation rules will be run"
            ],
        ),
    ],
)
def test_rules_that_take_too_long(length: int, times: int, errors: list[str]) -> None:
    """One evaluation has a limit, and all of an object's together have another; after that no rule is run."""
    schema = {"type": "array", "items": ruled({"type": "array", "items": NUMBER}, LOOP)}

    assert errors == found(schema, [list(range(length))] * times)
