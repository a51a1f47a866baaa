"""Objects are written in the order of Go's structs."""

from __future__ import annotations

from itertools import permutations

from apiserver.schema.definitions import Schema


def test_fields_stand_in_the_order_of_their_struct_and_map_keys_by_name():
    """A Secret shows data before type, and each data key in its place, however it was sent."""
    order = Schema.load().order("", "v1", "Secret")

    ordered = order({"type": "Opaque", "data": {"b": "Mg==", "a": "MQ=="}, "metadata": {"uid": "u", "name": "n"}}, {})

    assert ["metadata", "data", "type"] == list(ordered)
    assert ["name", "uid"] == list(ordered["metadata"])
    assert ["a", "b"] == list(ordered["data"])


def test_lists_keep_their_order_and_what_is_in_them_is_put_in_order():
    """Containers stay where they are; their fields move."""
    order = Schema.load().order("", "v1", "Pod")

    ordered = order({"spec": {"containers": [{"image": "i", "name": "z"}, {"image": "i", "name": "a"}]}}, {})

    assert ["z", "a"] == [container["name"] for container in ordered["spec"]["containers"]]
    assert ["name", "image"] == list(ordered["spec"]["containers"][0])


def test_types_that_contain_themselves_are_ordered_as_deep_as_they_go():
    """JSONSchemaProps nests without end."""
    order = Schema.load().order("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    inner = {"type": "string", "description": "d"}
    schema = {"openAPIV3Schema": {"properties": {"b": inner, "a": {"items": inner, "type": "array"}}}}

    ordered = order({"spec": {"versions": [{"schema": schema, "name": "v1"}]}}, {})

    properties = ordered["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert ["a", "b"] == list(properties)
    assert ["description", "type"] == list(properties["b"])


def test_what_an_object_shares_with_the_one_before_is_passed_on():
    """It is in order already; only what is new is looked at, to the depth of one struct in another."""
    order = Schema.load().order("", "v1", "Pod")
    pod = {"metadata": {"name": "n", "labels": {"a": "1", "b": "2"}}, "spec": {"containers": [{"name": "a"}]}}
    old = order({**pod, "status": {"phase": "Pending"}}, {})

    new = {"status": {"podIP": "10.0.0.1", "phase": "Running"}, "spec": old["spec"], "metadata": dict(old["metadata"])}
    ordered = order(new, old)

    assert ["metadata", "spec", "status"] == list(ordered)
    assert ["phase", "podIP"] == list(ordered["status"])
    assert ordered["spec"] is old["spec"]
    assert ordered["metadata"]["labels"] is old["metadata"]["labels"]


def test_more_forms_than_are_remembered_are_all_put_in_order(monkeypatch):
    """A struct's fields come in any order, many times over; what is forgotten is worked out again."""
    monkeypatch.setattr("apiserver.schema.ordering._MAX_PLANS", 2)
    order = Schema.load().order("", "v1", "Secret")
    fields = ["metadata", "immutable", "data", "type"]

    ordered = [list(order({key: {} for key in keys}, {})) for keys in [*permutations(fields), *permutations(fields)]]

    assert [fields] * 48 == [[name for name in one if name in fields] for one in ordered]
