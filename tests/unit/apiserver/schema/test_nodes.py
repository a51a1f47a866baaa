"""The tree of types that patches and server-side apply walk."""

from __future__ import annotations

import pytest

from apiserver.schema.definitions import Schema
from apiserver.schema.nodes import TypeNode
from apiserver.schema.structural import custom_resource_node

SCHEMA = Schema.load()


def node_at(root: TypeNode | None, *path: str) -> TypeNode:
    for name in path:
        assert root is not None
        root = root.items if name == "[]" else root.field(name)
    assert root is not None
    return root


def test_lists_know_their_merge_keys() -> None:
    """Containers merge by name and are a map list keyed by name; ports are keyed by port and protocol."""
    pod = SCHEMA.kind("", "v1", "Pod")

    containers = node_at(pod, "spec", "containers")
    ports = node_at(containers, "[]", "ports")

    assert ("name", ("merge",), "map", ("name",)) == (
        containers.merge_key,
        containers.patch_strategies,
        containers.list_type,
        containers.list_map_keys,
    )
    assert ("containerPort", ("containerPort", "protocol")) == (ports.merge_key, ports.list_map_keys)
    assert "TCP" == node_at(ports, "[]", "protocol").default


def test_a_field_that_refers_to_a_definition_has_its_own_marks() -> None:
    """A Deployment's strategy retains keys, a Pod's volumes do both."""
    strategy = node_at(SCHEMA.kind("apps", "v1", "Deployment"), "spec", "strategy")
    volumes = node_at(SCHEMA.kind("", "v1", "Pod"), "spec", "volumes")

    assert (("retainKeys",), ("merge", "retainKeys")) == (strategy.patch_strategies, volumes.patch_strategies)
    assert "RollingUpdate" not in node_at(strategy, "rollingUpdate").fields


def test_every_key_of_a_map_has_a_node() -> None:
    """Labels may have any key; objects know only their own."""
    metadata = node_at(SCHEMA.kind("", "v1", "ConfigMap"), "metadata")

    assert "string" == node_at(metadata, "labels", "any.example/key").type
    assert metadata.field("nosuch") is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "selector"), True),  # x-kubernetes-map-type: atomic
        (("spec", "template", "spec", "containers"), False),
        (("spec", "template", "spec", "containers", "[]", "args"), True),
        (("metadata", "labels"), False),
        (("spec", "replicas"), True),
    ],
)
def test_what_apply_owns_as_a_whole(path: tuple[str, ...], expected: bool) -> None:
    """Scalars, lists without a key and atomic maps have one owner; other lists and maps one for each entry."""
    assert expected == node_at(SCHEMA.kind("apps", "v1", "Deployment"), *path).is_atomic


def test_kinds_this_version_does_not_have_are_none() -> None:
    """An unknown kind has neither node nor codec."""
    assert SCHEMA.kind("example.com", "v1", "Widget") is None
    with pytest.raises(KeyError):
        SCHEMA.codec("example.com", "v1", "Widget")


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """The error says which versions there are."""
    with pytest.raises(ValueError, match=r"can be served: 1\.33, 1\.34, 1\.35, 1\.36, 1\.37"):
        Schema.load("1.2")


def test_custom_resources_have_the_same_tree() -> None:
    """A structural schema gives list keys, maps, defaults and the metadata every object has."""
    port = {
        "type": "object",
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    ports = {
        "type": "array",
        "items": port,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    spec = {
        "type": "object",
        "properties": {
            "ports": ports,
            "weights": {"type": "object", "additionalProperties": {"type": "number"}},
            "size": {"x-kubernetes-int-or-string": True},
            "rest": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    object_meta = SCHEMA.node("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")

    widget = custom_resource_node({"type": "object", "properties": {"spec": spec}}, object_meta)

    assert ("map", ("port", "protocol")) == (
        node_at(widget, "spec", "ports").list_type,
        node_at(widget, "spec", "ports").list_map_keys,
    )
    assert "TCP" == node_at(widget, "spec", "ports", "[]", "protocol").default
    assert ("number", "int-or-string", "any") == (
        node_at(widget, "spec", "weights", "anything").type,
        node_at(widget, "spec", "size").type,
        node_at(widget, "spec", "rest").type,
    )
    assert "map" == node_at(widget, "metadata", "labels").type
