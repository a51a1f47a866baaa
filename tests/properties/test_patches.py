"""Patches: the RFCs' examples, models of one's own, and that the patch between two objects leads there."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch import json_patch, merge_patch, strategic_merge
from apiserver.schema.definitions import Schema
from apiserver.schema.nodes import TypeNode

Object = dict[str, Any]
KEYS = st.sampled_from(("a", "b", "a/b", "~", ""))
SCALARS = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(("", "x", "~1")))
VALUES: Any = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
PATCHES: Any = st.recursive(
    SCALARS | st.none() | st.lists(SCALARS, max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386's own pseudo code."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merged(target.get(name), value)
    return target


def exactly(value: Any) -> Any:
    """A value of which true is not 1."""
    if isinstance(value, dict):
        return {key: exactly(item) for key, item in value.items()}
    return [exactly(item) for item in value] if isinstance(value, list) else (type(value), value)


@given(OBJECTS, st.dictionaries(KEYS, PATCHES, max_size=4))
def test_merge_patch_is_what_the_rfc_says(document: Object, patch: Object) -> None:
    """An independent reading gives the same, and the same patch again changes nothing."""
    before = copy.deepcopy(document)
    patched = merge_patch.apply(document, patch)

    assert exactly(merged(document, patch)) == exactly(patched)
    assert exactly(patched) == exactly(merge_patch.apply(patched, patch))
    assert before == document, "what was patched is read-only"


def operations(old: Any, new: Any, at: str = "") -> list[Object]:
    """A JSON patch that makes `new` of `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        found: list[Object] = [{"op": "remove", "path": f"{at}/{escaped(key)}"} for key in old if key not in new]
        for key, value in new.items():
            where = f"{at}/{escaped(key)}"
            found += (
                operations(old[key], value, where) if key in old else [{"op": "add", "path": where, "value": value}]
            )
        return found
    if isinstance(old, list) and isinstance(new, list):
        found = [{"op": "remove", "path": f"{at}/{index}"} for index in reversed(range(len(new), len(old)))]
        for index, value in enumerate(new):
            inner = operations(old[index], value, f"{at}/{index}") if index < len(old) else []
            found += inner if index < len(old) else [{"op": "add", "path": f"{at}/-", "value": value}]
        return found
    return [] if exactly(old) == exactly(new) else [{"op": "replace", "path": at, "value": new}]


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@given(OBJECTS, OBJECTS)
def test_json_patch_there_and_back(old: Object, new: Object) -> None:
    """The difference of two objects leads from one to the other, and its inverse back."""
    there = json_patch.apply(old, operations(old, new))

    assert exactly(new) == exactly(there)
    assert exactly(old) == exactly(json_patch.apply(there, operations(new, old)))


@given(OBJECTS, VALUES)
def test_json_patch_moves_and_copies(document: Object, value: Any) -> None:
    """A copy is equal to what was copied, a move is a copy and a removal, and a test of either holds."""
    start = {"document": document, "value": value}
    copied = json_patch.apply(
        start, [{"op": "copy", "from": "/value", "path": "/other"}, {"op": "test", "path": "/other", "value": value}]
    )
    moved = json_patch.apply(start, [{"op": "move", "from": "/value", "path": "/other"}])

    assert {**start, "other": value} == copied
    assert {"document": document, "other": value} == moved


@cache
def pod_spec() -> TypeNode:
    return Schema.load("1.36").node("io.k8s.api.core.v1.PodSpec")


NAMES = ("a", "b", "c", "d")
ENVIRONMENTS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(NAMES), "value": st.sampled_from("xy")}),
    max_size=3,
    unique_by=lambda item: item["name"],
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(NAMES)},
        optional={
            "image": st.sampled_from(("nginx", "redis")),
            "env": ENVIRONMENTS,
            "args": st.lists(st.sampled_from("pq"), min_size=1, max_size=2),
        },
    ),
    max_size=3,
    unique_by=lambda item: item["name"],
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "containers": CONTAINERS,
        "nodeSelector": st.dictionaries(st.sampled_from(NAMES), st.sampled_from("xy"), max_size=3),
        "hostNetwork": st.booleans(),
        "tolerations": st.lists(st.fixed_dictionaries({"key": st.sampled_from(NAMES)}), max_size=2),  # atomic: replaced
    },
)


def difference(old: Object, new: Object, node: TypeNode) -> Object:
    """A strategic merge patch from `old` to `new`, as kubectl makes it: by merge keys, with the wanted order."""
    patch: Object = {name: None for name in old if name not in new}
    for name, value in new.items():
        before, field = old.get(name), node.field(name)
        assert field is not None
        if before == value:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            patch[name] = difference(before, value, field)
        elif "merge" in field.patch_strategies and isinstance(before, list) and field.merge_key:
            patch |= list_difference(name, before, value, field)
        else:
            patch[name] = value
    return patch


def list_difference(name: str, old: list[Object], new: list[Object], field: TypeNode) -> Object:
    key = field.merge_key
    assert field.items is not None
    before = {item[key]: item for item in old}
    items = []
    for item in new:
        if item[key] not in before:
            items.append(item)
        elif change := difference(before[item[key]], item, field.items):
            items.append({**change, key: item[key]})
    kept = {item[key] for item in new}
    items += [{key: item[key], "$patch": "delete"} for item in old if item[key] not in kept]
    return {name: items, f"$setElementOrder/{name}": [{key: item[key]} for item in new]}


def without_emptiness(value: Any) -> Any:
    """An empty list and no list are one to Go's omitempty."""
    if isinstance(value, dict):
        return {key: inner for key, item in value.items() if (inner := without_emptiness(item)) not in ({}, [])}
    return [without_emptiness(item) for item in value] if isinstance(value, list) else value


@given(SPECS, SPECS)
def test_strategic_merge_leads_from_one_to_the_other(old: Object, new: Object) -> None:
    """The patch that kubectl's way of computing it finds gives the second object, items in its order."""
    patch = difference(old, new, pod_spec())

    patched = strategic_merge.apply(old, patch, pod_spec())

    assert without_emptiness(new) == without_emptiness(patched)


@given(SPECS, SPECS)
def test_a_patch_twice_is_a_patch_once(old: Object, new: Object) -> None:
    """What a strategic merge patch made of an object, the same patch leaves as it is."""
    patch = difference(old, new, pod_spec())
    once = strategic_merge.apply(old, patch, pod_spec())

    assert without_emptiness(once) == without_emptiness(strategic_merge.apply(once, patch, pod_spec()))


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
        ({"baz": "q", "foo": "bar"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo", "foo": "bar"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
        ),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        (
            {"foo": ["bar"]},
            [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
            {"foo": ["bar", ["abc", "def"]]},
        ),
    ],
)
def test_examples_of_rfc_6902(document: Object, patch: list[Object], expected: Object) -> None:
    """The appendix's examples that succeed."""
    assert expected == json_patch.apply(document, patch)
