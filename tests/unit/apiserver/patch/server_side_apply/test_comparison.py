"""What differs between two objects, and what a configuration states."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.patch.server_side_apply.comparison import compare
from apiserver.patch.server_side_apply.ownership import stated
from apiserver.patch.server_side_apply.shapes import UNKNOWN, Shape
from apiserver.schema.definitions import Schema

SCHEMA = Schema.load()


def shape(group: str, version: str, kind: str) -> Shape:
    node = SCHEMA.kind(group, version, kind)
    assert node is not None
    return Shape(node)


SERVICE, POD, CONFIG_MAP = (shape("", "v1", kind) for kind in ("Service", "Pod", "ConfigMap"))


def test_new_containers_own_themselves_and_all_in_them() -> None:
    """A list or map that was not there is owned with its parts; one that was is owned in parts only."""
    old, new = {"spec": {}}, {"data": {"k": "v"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}

    found = compare(SERVICE, old, new)

    assert {
        "f:spec": {
            "f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
            "f:selector": {},
        }
    } == found.changed


CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(("a", "b", "c", '"<\u2028')), "image": st.sampled_from("xy")},
        optional={"args": st.lists(st.sampled_from("pq"), max_size=2), "tty": st.booleans()},
    ),
    max_size=4,
    unique_by=lambda item: item["name"],
)


@given(CONTAINERS, CONTAINERS)
def test_lists_are_compared_as_if_a_name_were_repeated(old: list[Any], new: list[Any]) -> None:
    """Names are repeated seldom, so lists without repetition have a quicker way: what it finds is the same."""
    twice = [{"name": "twice"}] * 2

    quickly = compare(POD, {"spec": {"containers": old}}, {"spec": {"containers": new}})

    assert repr(quickly) == repr(
        compare(POD, {"spec": {"containers": old + twice}}, {"spec": {"containers": new + twice}})
    )


def test_items_are_compared_by_key_not_by_place() -> None:
    """Moving a container changes nothing; changing its image changes that; one left out is removed with all in it."""
    one, two, three = ({"name": name, "image": "i"} for name in ("one", "two", "three"))
    old, new = {"spec": {"containers": [one, two, three]}}, {"spec": {"containers": [two, {**one, "image": "j"}]}}

    found = compare(POD, old, new)

    in_spec = {"changed": {'k:{"name":"one"}': {"f:image": {}}}}
    gone = {'k:{"name":"three"}': {".": {}, "f:image": {}, "f:name": {}}}
    assert ({"f:spec": {"f:containers": in_spec["changed"]}}, {"f:spec": {"f:containers": gone}}) == tuple(found)


def test_duplicates_are_owned_under_their_name_alone() -> None:
    """Two env variables of one name are one path, changed when either is."""
    once = [{"name": "A", "value": "1"}]
    twice = [*once, {"name": "A", "value": "2"}]
    old, new = ({"spec": {"containers": [{"name": "c", "env": env}]}} for env in (once, twice))

    found = compare(POD, old, new)

    step = {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:env": {'k:{"name":"A"}': {}}}}}}
    parts = {".": {}, "f:name": {}, "f:value": {}}
    assert (
        step,
        {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:env": {'k:{"name":"A"}': parts}}}}},
    ) == tuple(found)


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        ({"a": 1}, {"a": {"b": 1}}, {"f:a": {".": {}, "f:b": {}}}, {}),
        ({"a": {"b": 1}}, {"a": 1}, {"f:a": {}}, {"f:a": {"f:b": {}}}),
        ({"a": [1]}, {"a": [2]}, {"f:a": {}}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, {"f:a": {"f:c": {}}}, {"f:a": {"f:b": {}}}),
        ({"a": {"b": 1}}, {"a": None}, {}, {"f:a": {"f:b": {}}}),
    ],
)
def test_unknown_json_is_compared_by_what_it_is(old: Any, new: Any, changed: Any, removed: Any) -> None:
    """Without a schema maps are compared part by part, everything else whole, and types may change."""
    assert (changed, removed) == tuple(compare(UNKNOWN, old, new))


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        ({"data": {"k": "v"}}, {"f:data": {"f:k": {}}}),
        ({"data": {}}, {"f:data": {}}),
        ({"data": None}, {"f:data": {}}),
        ({"metadata": {"finalizers": ["a/b"]}}, {"f:metadata": {"f:finalizers": {'v:"a/b"': {}}}}),
        ({"metadata": {"finalizers": []}}, {}),
    ],
)
def test_a_configuration_states_its_leaves(config: Any, fields: Any) -> None:
    """Leaves, items and deliberately empty maps are stated; an empty list by key states nothing."""
    assert fields == stated(CONFIG_MAP, config)


SPEC_WITH_PORTS = {"spec": {"ports": [{"port": 80}]}}
PORT_STEP = {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        (SPEC_WITH_PORTS, {"spec": 1}, {"f:spec": {}}, {"f:spec": {"f:ports": {".": {}, **PORT_STEP}}}),
        ({"spec": {"type": "a"}}, {"spec": ""}, {"f:spec": {}}, {"f:spec": {"f:type": {}}}),
        ({"spec": {"type": "a"}}, {"spec": ["a"]}, {"f:spec": {}}, {"f:spec": {"f:type": {}}}),
        ({"spec": 1}, {"spec": {"type": "a"}}, {"f:spec": {".": {}, "f:type": {}}}, {}),
        ({"spec": 1}, {"spec": "x"}, {"f:spec": {}}, {}),
        (SPEC_WITH_PORTS, {"spec": {"ports": "x"}}, {"f:spec": {"f:ports": {}}}, {"f:spec": {"f:ports": PORT_STEP}}),
        ({"spec": {"ports": {"a": 1}}}, SPEC_WITH_PORTS, {"f:spec": {"f:ports": {".": {}, **PORT_STEP}}}, {}),
        ({"spec": {}}, {"spec": {"ports": 5}}, {"f:spec": {"f:ports": {}}}, {}),
        ({}, {"spec": {"ports": "abc"}}, {"f:spec": {".": {}, "f:ports": {}}}, {}),
    ],
)
def test_a_value_of_another_kind_is_a_leaf(old: Any, new: Any, changed: Any, removed: Any) -> None:
    """Where a leaf replaced a map or list, the leaf is changed and the old parts are gone; validation comes later."""
    assert (changed, removed) == tuple(compare(SERVICE, old, new))
