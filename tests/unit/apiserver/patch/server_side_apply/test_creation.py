"""Who sends a new object owns the same of it whether the form of it is known or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.patch.server_side_apply import creation
from apiserver.patch.server_side_apply.comparison import compare
from apiserver.patch.server_side_apply.creation import Creation
from apiserver.patch.server_side_apply.field_sets import MEMBER, FieldSet
from apiserver.patch.server_side_apply.filters import EVERYTHING, Exclude
from apiserver.patch.server_side_apply.shapes import UNKNOWN, Shape, Unnamed
from apiserver.patch.server_side_apply.tracking import Filter, stripped
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import deep_copy

Object = dict[str, Any]

SCHEMA = Schema.load()
POD, EVENT, CONFIG_MAP = ("", "v1", "Pod"), ("", "v1", "Event"), ("", "v1", "ConfigMap")
DEFINITION = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
# One object of each kind that has a bit of everything; the others are a change or two away from it.
CONTAINER = {
    "name": "c",
    "image": "nginx",
    "command": ["sh"],
    "env": [{"name": "a", "value": "x"}, {"name": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}],
    "resources": {"limits": {"cpu": "1"}},
}
METADATA = {
    "name": "a",
    "creationTimestamp": None,
    "labels": {"a": "x"},
    "finalizers": ["example.com/a", "example.com/b"],
    "ownerReferences": [{"uid": "1", "name": "a"}],
}
OBJECTS: dict[tuple[str, str, str], Object] = {
    POD: {
        "metadata": METADATA,
        "spec": {"containers": [CONTAINER], "volumes": [{"name": "v", "emptyDir": {}}], "nodeSelector": {"a": "x"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "podIPs": [{"ip": "10.0.0.1"}]},
    },
    EVENT: {
        "metadata": METADATA,
        "involvedObject": {"name": "a"},
        "source": {"component": "c"},
        "eventTime": None,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "series": {"count": 1},
    },
    CONFIG_MAP: {"metadata": METADATA, "data": {"a": "x", "b": ""}, "immutable": True},
    DEFINITION: {
        "metadata": METADATA,
        "spec": {
            "names": {"shortNames": ["a"], "plural": ""},
            "versions": [
                {
                    "name": "v1",
                    "schema": {
                        "openAPIV3Schema": {
                            "properties": {"a": {"default": {"a": [1]}}},
                            "x-kubernetes-list-map-keys": ["a"],
                        }
                    },
                }
            ],
        },
        "status": {"storedVersions": None, "conditions": None, "acceptedNames": {"plural": "", "kind": ""}},
    },
}
NAMES = ("a", "b")
ODD = st.sampled_from(
    (None, "", 0, False, [], {}, "a", "b", 1, True, 1.5, ["a"], [{"a": 1}, {"a": 1}], {"a": {"b": 1}})
)
ANYTHING = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 1000), st.sampled_from(("replace", "remove", "double", "rename")), ODD), max_size=3
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every key of every map and every index of every list in a value, with the map or list."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def changed(obj: Object, changes: list[tuple[int, str, Any]]) -> Object:
    """A copy that differs in a few places."""
    copy: Object = deep_copy(obj)
    for where, how, value in changes:
        found = list(places(copy))
        holder, key = found[where % len(found)]
        if how == "remove":
            del holder[key]
        elif how == "replace":
            holder[key] = deep_copy(value)
        elif isinstance(holder, list):
            holder.append(deep_copy(holder[key]))
        elif how == "rename":
            holder["b"] = holder.pop(key)
        if not copy:
            break
    return copy


def of_kind(kind: tuple[str, str, str]) -> tuple[Shape, Object, st.SearchStrategy[Object]]:
    """The shape of a kind, its blank object, and objects of it, some of which validation would refuse."""
    codec = SCHEMA.codec(*kind)
    return Shape(codec.node), codec.decode({}).object, CHANGES.map(partial(changed, OBJECTS[kind]))


def plainly(shape: Shape, blank: Object, obj: Object, counts: Filter = EVERYTHING) -> FieldSet | str:
    try:
        return stripped(counts.fields(counts.comparison(compare(shape, blank, obj)).changed))
    except Unnamed as error:
        return str(error)


def remembered(made: Creation, obj: Object) -> FieldSet | str:
    try:
        return made.owned(obj)
    except Unnamed as error:
        return str(error)


@pytest.mark.parametrize("kind", OBJECTS, ids=lambda kind: kind[2])
def test_what_is_owned_of_a_known_form_is_what_a_comparison_finds(kind: tuple[str, str, str]) -> None:
    """However objects of a kind come one after the other."""
    shape, blank, objects = of_kind(kind)
    made = Creation(shape, blank, EVERYTHING)

    @settings(max_examples=200)
    @given(objects)
    def holds(obj: Object) -> None:
        assert plainly(shape, blank, obj) == remembered(made, obj)

    holds()


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=2))
def test_nor_does_it_matter_where_a_type_is_unknown(obj: Object) -> None:
    """Of values of unknown type maps are owned part by part, all else whole."""
    assert plainly(UNKNOWN, {}, obj) == remembered(UNTYPED, obj)


UNTYPED = Creation(UNKNOWN, {}, EVERYTHING)


def test_objects_of_one_form_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts and times do not count; which keys there are, and whose the items of lists are, does."""
    shape, blank, _ = of_kind(POD)
    made = Creation(shape, blank, EVERYTHING)
    compared: list[Object] = []
    monkeypatch.setattr(creation, "compare", lambda *given: compared.append(given[2]) or compare(*given))

    for name, label, image in (("a", "x", "nginx:1"), ("a", "y", "nginx:2"), ("b", "x", "nginx:1")):
        made.owned(
            {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": name, "image": image}]}},
        )

    assert ["a", "b"] == [obj["spec"]["containers"][0]["name"] for obj in compared]


def test_a_memory_that_is_full_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps may have any keys: what is remembered of them has a bound."""
    monkeypatch.setattr(creation, "_MAX_FORMS", 3)
    shape, blank, _ = of_kind(CONFIG_MAP)
    made = Creation(shape, blank, EVERYTHING)

    for i in range(10):
        assert {"f:data": {".": MEMBER, f"f:{i}": MEMBER}} == made.owned({"data": {str(i): "x"}})
        assert len(made._known) <= 3


def test_what_an_endpoint_resets_is_not_owned() -> None:
    """Whoever creates an object sets no status."""
    shape, blank, _ = of_kind(POD)
    counts = Exclude({"f:status": MEMBER})

    owned = Creation(shape, blank, counts).owned({"spec": {"nodeName": "n"}, "status": {"phase": "Running"}})

    assert {"f:spec": {"f:nodeName": MEMBER}} == owned
