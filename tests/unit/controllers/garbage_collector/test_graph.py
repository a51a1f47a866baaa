"""Who owns whom, and whom to look at when something changes."""

from typing import Any

import pytest

from controllers.garbage_collector.graph import AbsentOwners, Graph, Node, alternative_identity
from controllers.garbage_collector.identity import Identity
from kubeloop.apimachinery.meta import Object


class World:
    """A graph and what it asked for. Objects are config maps named by their uid."""

    def __init__(self) -> None:
        self.looked_at: list[str] = []
        self.orphaned: list[str] = []
        self.reported: list[tuple[str, str]] = []
        self.graph = Graph(self.looked_at.append, self.orphaned.append, self._report)

    def _report(self, node: Node, owner: Identity) -> None:
        self.reported.append((node.identity.name, owner.name))

    def observe(self, uid: str, *owners: str, namespace: str = "default", blocking: bool = False, **meta: Any) -> None:
        """`owners` are uids, which are also names; `uid=name` means an owner by another name."""
        references = []
        for owner in owners:
            owner_uid, _, name = owner.partition("=")
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name or owner_uid, "uid": owner_uid}
            references.append({**reference, "blockOwnerDeletion": True} if blocking else reference)
        obj: Object = {"metadata": {"uid": uid, "ownerReferences": references, **meta}}
        self.graph.observe(identity(uid, namespace), obj)

    def asked(self) -> list[str]:
        """What it asked to look at since the last call."""
        asked, self.looked_at[:] = list(self.looked_at), []
        return asked


def identity(uid: str, namespace: str = "default", name: str = "") -> Identity:
    return Identity("ConfigMap", "v1", namespace, name or uid, uid)


DELETED = "2026-01-01T00:00:00Z"


def test_an_unknown_owner_is_asked_for_once() -> None:
    """The first reference to an owner nobody has seen makes it virtual, to be asked for live; more do not ask again."""
    world = World()

    world.observe("a", "ghost")
    world.observe("b", "ghost")

    ghost = world.graph.get("ghost")
    assert ghost is not None
    assert (["ghost"], True, {"a", "b"}) == (world.asked(), ghost.is_virtual, set(ghost.dependents))


def test_dependents_are_looked_at_when_their_owner_goes() -> None:
    """The owner is then known to be absent, so that nobody asks for it."""
    world = World()
    world.observe("owner")
    world.observe("child", "owner")

    world.graph.remove(identity("owner"))

    assert (["child"], True) == (world.asked(), identity("owner") in world.graph.absent_owners)


def test_foreground_deletion_looks_at_dependents_and_owner() -> None:
    """It begins once, and goes on whenever a dependent goes."""
    world = World()
    world.observe("owner")
    world.observe("child", "owner", blocking=True)
    deletion = {"deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion"]}

    world.observe("owner", **deletion)
    begun = world.asked()
    world.observe("owner", **deletion)
    again = world.asked()
    world.graph.remove(identity("child"))

    assert (["child", "owner"], [], ["owner"]) == (begun, again, world.asked())


def test_orphaning_begins_once() -> None:
    """An object deleted with the orphan finalizer is handed to the orphaner, not looked at."""
    world = World()
    world.observe("owner")
    world.observe("child", "owner")
    deletion = {"deletionTimestamp": DELETED, "finalizers": ["orphan"]}

    world.observe("owner", **deletion)
    world.observe("owner", **deletion)

    assert (["owner"], []) == (world.orphaned, world.asked())


def test_an_owner_is_looked_at_when_a_dependent_no_longer_blocks_it() -> None:
    """Whether the reference went or only stopped blocking."""
    world = World()
    world.observe("owner")
    world.observe("child", "owner", blocking=True)

    world.observe("child", "owner")
    unblocked = world.asked()
    world.observe("child", "owner", blocking=True)
    world.observe("child")

    owner = world.graph.get("owner")
    assert owner is not None
    assert (["owner"], ["owner"], {}) == (unblocked, world.asked(), owner.dependents)


def test_only_blocking_dependents_hold_an_owner() -> None:
    """A reference without blockOwnerDeletion does not."""
    world = World()
    world.observe("owner")
    world.observe("holding", "owner", blocking=True)
    world.observe("loose", "owner")

    owner = world.graph.get("owner")

    assert owner is not None
    assert ["holding"] == [node.identity.uid for node in owner.blocking_dependents()]


@pytest.mark.parametrize("owner_first", [True, False])
def test_an_owner_in_another_namespace_is_reported(owner_first: bool) -> None:
    """In whatever order the two are seen, the dependent is looked at and told of."""
    world = World()
    steps = [lambda: world.observe("far", namespace="other"), lambda: world.observe("child", "far")]

    for step in steps if owner_first else reversed(steps):
        step()

    assert ([("child", "far")], "child") == (world.reported, world.asked()[-1])


def test_a_wrong_name_is_looked_at() -> None:
    """A reference with the right uid and a wrong name means an owner that is not there."""
    world = World()
    world.observe("owner")

    world.observe("child", "owner=somebody")

    assert ["child"] == world.asked()


def test_an_absent_virtual_owner_is_forgotten_with_its_dependents_looked_at() -> None:
    """The live read found nothing."""
    world = World()
    world.observe("child", "ghost")
    world.asked()

    world.graph.remove_absent(identity("ghost"))

    assert (["child"], None) == (world.asked(), world.graph.get("ghost"))


def test_another_name_of_a_virtual_owner_is_tried() -> None:
    """Dependents disagree on the name: who believes in the one that is absent is looked at, then the other is tried."""
    world = World()
    world.observe("one", "uid=first")
    world.observe("two", "uid=second")
    world.asked()

    world.graph.remove_absent(identity("uid", name="first"))

    node = world.graph.get("uid")
    assert node is not None
    assert (["one", "uid"], "second") == (world.asked(), node.identity.name)


def test_a_real_owner_survives_that_a_wrong_name_is_absent() -> None:
    """Only those who know it by the wrong name are looked at."""
    world = World()
    world.observe("owner")
    world.observe("right", "owner")
    world.observe("wrong", "owner=somebody")
    world.asked()

    world.graph.remove_absent(identity("owner", name="somebody"))

    assert (["wrong"], False) == (world.asked(), world.graph.get("owner") is None)


@pytest.mark.parametrize(
    ("names", "absent", "expected"),
    [(["a", "c"], "b", "c"), (["a", "b"], "c", "a"), (["b"], "b", None), ([], "b", None)],
    ids=["the next", "or else the first", "no other", "none at all"],
)
def test_alternatives_are_tried_in_order(names: list[str], absent: str, expected: str | None) -> None:
    """So that every name is tried once before one is tried again."""
    nodes = []
    for name in names:
        node = Node(identity(f"child-{name}"))
        node.owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "uid"}]
        nodes.append(node)

    found = alternative_identity(nodes, identity("uid", name=absent))

    assert expected == (found.name if found else None)


def test_few_absent_owners_are_remembered() -> None:
    """The least recently used is forgotten first."""
    absent = AbsentOwners(size=2)
    absent.add(identity("a"))
    absent.add(identity("b"))

    assert identity("a") in absent  # used
    absent.add(identity("c"))

    assert [True, False, True] == [identity(uid) in absent for uid in "abc"]
