"""The objects an informer knows: keys, indices, relists, and the mutation detector."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery.meta import ObjectKey, name_of
from kubeloop.client.store import CacheMutated, Store


def a_pod(name: str, version: int = 1, namespace: str = "default", node: str = "") -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": str(version)},
        "spec": {"nodeName": node},
    }


def a_store(*pods: dict[str, Any], mutation_detector: bool = False) -> Store:
    store = Store("pods", mutation_detector)
    store.replace(pods)
    return store


def by_node(pod: dict[str, Any]) -> list[str]:
    return [pod["spec"]["nodeName"]]


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [name_of(obj) for obj in objects]


def test_list_keeps_to_a_namespace() -> None:
    """With a namespace only its objects are listed, without one all."""
    store = a_store(a_pod("a"), a_pod("b", namespace="other"))

    assert ["a"] == names(store.list("default"))
    assert ["a", "b"] == names(store.list())
    assert [] == store.list("empty")


def test_an_index_follows_its_objects() -> None:
    """An index holds what its function says of each object now, whether added before or after the objects."""
    store = a_store(a_pod("a", node="n1"), a_pod("b", node="n1"))
    store.add_index("by-node", by_node)

    store.put(a_pod("a", 2, node="n2"))
    store.remove(ObjectKey("default", "b"))

    assert ["a"] == names(store.by_index("by-node", "n2"))
    assert [] == store.by_index("by-node", "n1")
    assert ("n2",) == store.index_values("by-node")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.lists(st.sampled_from("xyz"), max_size=3))))
def test_indices_are_what_their_functions_say(steps: list[tuple[str, list[str] | None]]) -> None:
    """Whatever came, changed and went: by each value those objects that have it, and only values that are there."""
    store = a_store()
    store.add_index("by-node", lambda pod: pod["spec"]["nodes"])

    for i, (name, nodes) in enumerate(steps):
        if nodes is None:
            store.remove(ObjectKey("default", name))
        else:
            store.put({**a_pod(name, i), "spec": {"nodes": nodes}})

    expected = {node: {name_of(pod) for pod in store.list() if node in pod["spec"]["nodes"]} for node in "xyz"}
    assert expected == {node: set(names(store.by_index("by-node", node))) for node in "xyz"}
    assert {node for node, held in expected.items() if held} == set(store.index_values("by-node"))


def test_a_relist_tells_only_what_changed() -> None:
    """Replacing adds, updates and deletes what differs; an object of the same version is told to nobody."""
    store = a_store(a_pod("same"), a_pod("changed"), a_pod("gone"))

    deltas = store.replace([a_pod("same"), a_pod("changed", 2), a_pod("new")])

    told = [(delta.old and name_of(delta.old), delta.new and name_of(delta.new)) for delta in deltas]
    assert [("changed", "changed"), (None, "new"), ("gone", None)] == told
    assert ["same", "changed", "new"] == names(store.list())


def test_an_edited_object_is_named() -> None:
    """The mutation detector says which object was edited, and where."""
    store = a_store(a_pod("a"), a_pod("b"), mutation_detector=True)
    pod = store.get(ObjectKey("default", "a"))
    assert pod is not None

    pod["spec"]["nodeName"] = "stolen"

    with pytest.raises(CacheMutated, match=r"Pod default/a was edited at spec\.nodeName"):
        store.verify()


def test_an_edit_is_found_even_after_a_replacement() -> None:
    """Whoever edits an object that was handed out long ago is found when the object is replaced."""
    store = a_store(a_pod("a"), mutation_detector=True)
    (pod,) = store.list()
    store.verify()

    pod["metadata"]["labels"] = {"new": "label"}

    with pytest.raises(CacheMutated, match="labels"):
        store.put(a_pod("a", 2))


def test_reading_is_no_edit() -> None:
    """Objects that were only read pass every check."""
    store = a_store(a_pod("a"), mutation_detector=True)
    store.list()

    store.verify()
    store.put(a_pod("a", 2))
    store.verify(everything=True)

    assert "2" == store.list()[0]["metadata"]["resourceVersion"]
