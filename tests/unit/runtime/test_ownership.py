"""Who claims which child: the rules of controller_ref_manager.go."""

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object, name_of, owner_references_of
from kubeloop.apimachinery.resource import NODES, REPLICA_SETS
from kubeloop.runtime.ownership import (
    AlreadyOwned,
    claim,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)

TERMINATING = "2026-01-01T00:00:00Z"


class AppIsWeb:
    """A selector."""

    def matches(self, labels: Any) -> bool:
        return labels.get("app") == "web"


def an_owner(**metadata: Any) -> Object:
    return {"metadata": {"name": "web", "namespace": "default", "uid": "owner", **metadata}}


def a_child(app: str = "web", owner: str = "", **metadata: Any) -> Object:
    references = [{"uid": owner, "controller": True, "kind": "ReplicaSet", "name": "web"}] if owner else []
    labels = {"app": app}
    return {
        "metadata": {"name": "c", "namespace": "default", "labels": labels, "ownerReferences": references, **metadata}
    }


@pytest.mark.parametrize(
    ("child", "owner", "expected"),
    [
        (a_child(owner="owner"), an_owner(), "keep"),
        (a_child(), an_owner(), "adopt"),
        (a_child("db", owner="owner"), an_owner(), "release"),
        (a_child("db"), an_owner(), "leave"),
        (a_child(owner="somebody else"), an_owner(), "leave"),
        (a_child(deletionTimestamp=TERMINATING), an_owner(), "leave"),
        (a_child(namespace="other"), an_owner(), "leave"),
        (a_child(), an_owner(deletionTimestamp=TERMINATING), "leave"),
        (a_child("db", owner="owner"), an_owner(deletionTimestamp=TERMINATING), "leave"),
        (a_child(owner="owner", deletionTimestamp=TERMINATING), an_owner(), "keep"),
        (a_child(owner="owner"), an_owner(deletionTimestamp=TERMINATING), "keep"),
    ],
)
def test_what_becomes_of_a_child(child: Object, owner: Object, expected: str) -> None:
    """Ours and matching is kept, orphaned and matching adopted, ours and not matching released, all else left alone."""
    plan = claim(owner, AppIsWeb(), [child])

    decided = [name for name in ("keep", "adopt", "release") if getattr(plan, name)] or ["leave"]

    assert [expected] == decided


def test_a_new_child_gets_one_controller() -> None:
    """The reference is set once however often it is set, beside other owners; a second controller is refused."""
    child = {"metadata": {"name": "c", "ownerReferences": [{"uid": "friend", "kind": "ConfigMap", "name": "f"}]}}

    set_controller_reference(child, an_owner(), REPLICA_SETS)
    set_controller_reference(child, an_owner(), REPLICA_SETS)

    assert ["f", "web"] == [reference["name"] for reference in child["metadata"]["ownerReferences"]]
    with pytest.raises(AlreadyOwned, match="already controlled by ReplicaSet web"):
        set_controller_reference(child, an_owner(uid="another"), REPLICA_SETS)
    assert "c" == name_of(child)


def test_a_reference_keeps_its_place() -> None:
    """Told again with another name or flag it is written anew where it stands: an order that changes is a write."""
    child = a_child(ownerReferences=[{"uid": "owner", "name": "old"}, {"uid": "other"}])

    set_owner_reference(child, an_owner(), REPLICA_SETS, blocks_deletion=True)
    once = list(owner_references_of(child))
    set_owner_reference(child, an_owner(), REPLICA_SETS, blocks_deletion=True)

    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "owner"}
    assert [{**reference, "blockOwnerDeletion": True}, {"uid": "other"}] == once == owner_references_of(child)


def test_an_owner_is_of_the_same_namespace_or_of_none() -> None:
    """The garbage collector would take an owner elsewhere for gone, and delete the child."""
    with pytest.raises(ValueError, match="web in namespace elsewhere: owners are of the same namespace, or of none"):
        set_controller_reference(a_child(), an_owner(namespace="elsewhere"), REPLICA_SETS)

    set_controller_reference(a_child(), an_owner(namespace=""), NODES)


def test_an_owner_that_is_taken_off_leaves_the_others() -> None:
    """And where it is none of them, nothing changes."""
    child = a_child(ownerReferences=[{"uid": "owner"}, {"uid": "other"}])

    remove_owner_reference(child, an_owner())
    remove_owner_reference(child, an_owner(uid="third"))

    assert [{"uid": "other"}] == owner_references_of(child)
