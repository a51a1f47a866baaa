"""Who owns whom, by uid, as far as the informers have told. Pure: no I/O, no clock.

A node is *virtual* while only references speak of it: its coordinates are hearsay, and whether it exists must be asked
live. The graph says what to look at (`Work`); looking is the collector's. All methods run in informer handlers, so
nothing may await between reading and changing the graph.

GraphBuilder of pkg/controller/garbagecollector, v1.36.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from controllers.garbage_collector.identity import FOREGROUND, ORPHAN, Identity, Reference, identity_of
from kubeloop.apimachinery.meta import (
    ReadOnlyObject,
    finalizers_of,
    is_being_deleted,
    owner_references_of,
)


class Node:
    """One object. `obj` is the informer's own dict, None while virtual."""

    __slots__ = ("dependents", "identity", "is_deleting_dependents", "obj", "owners")

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.obj: ReadOnlyObject | None = None
        self.owners: Sequence[Reference] = ()
        self.dependents: dict[str, Node] = {}  # by uid
        self.is_deleting_dependents = False

    @property
    def is_virtual(self) -> bool:
        return self.obj is None

    @property
    def is_being_deleted(self) -> bool:
        return self.obj is not None and is_being_deleted(self.obj)

    def blocking_dependents(self) -> list[Node]:
        """Dependents whose reference says that this object must outlive them."""
        uid = self.identity.uid
        return [
            dependent
            for dependent in self.dependents.values()
            if any(ref.get("uid") == uid and ref.get("blockOwnerDeletion") for ref in dependent.owners)
        ]


class AbsentOwners:
    """Owners known not to exist: at most 500, the least recently used is forgotten (and asked for again)."""

    def __init__(self, size: int = 500) -> None:
        self._size = size
        self._known: OrderedDict[Identity, None] = OrderedDict()

    def add(self, identity: Identity) -> None:
        self._known[identity] = None
        self._known.move_to_end(identity)
        if len(self._known) > self._size:
            self._known.popitem(last=False)

    def __contains__(self, identity: Identity) -> bool:
        if identity not in self._known:
            return False
        self._known.move_to_end(identity)
        return True


class Graph:
    """`look_at(uid)`: an object to try to delete; `orphan(uid)`: one whose dependents are to be let go;
    `report(node, owner)`: a reference to an owner in another namespace."""

    def __init__(
        self,
        look_at: Callable[[str], None],
        orphan: Callable[[str], None],
        report: Callable[[Node, Identity], None],
    ) -> None:
        self._look_at, self._orphan, self._report = look_at, orphan, report
        self._nodes: dict[str, Node] = {}
        self.absent_owners = AbsentOwners()

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def __len__(self) -> int:
        return len(self._nodes)

    def observe(self, identity: Identity, obj: ReadOnlyObject) -> None:
        """An informer has (a new version of) the object."""
        node = self._nodes.get(identity.uid)
        before = node.obj if node is not None else None
        if node is None:
            node = self._nodes[identity.uid] = Node(identity)
        elif node.is_virtual:
            self._learn_identity(node, identity)
        node.obj = obj
        self._take_owners(node, owner_references_of(obj))
        self._begin_deletion(node, before, obj)

    def refresh(self, uid: str, obj: ReadOnlyObject) -> bool:
        """Take a newer version of an object if nothing has changed that the graph is made of; False: `observe` it.

        Nearly every change is such a one, and `observe` would find that out at several times the cost.
        """
        node = self._nodes.get(uid)
        if node is None or node.is_virtual or is_being_deleted(obj):
            return False
        references = owner_references_of(obj)
        if (references or node.owners) and references != node.owners:
            return False
        node.obj = obj
        return True

    def remove(self, identity: Identity) -> None:
        """An informer has seen the object go."""
        node = self._nodes.get(identity.uid)
        if node is not None:
            self._remove(node, identity)

    def remove_absent(self, identity: Identity) -> None:
        """A live read found that nothing of this identity exists. Others may know the uid by other coordinates."""
        node = self._nodes.get(identity.uid)
        if node is None:
            return
        matching, differing = _partition(node.dependents.values(), identity)
        if node.is_virtual and differing:
            self._look_at_dependents_of_absent(matching, identity)
            self._try_alternative(node, differing, identity)
        elif not node.is_virtual and node.identity != identity:
            self._look_at_dependents_of_absent(matching, identity)
        else:
            self._remove(node, identity)

    def _learn_identity(self, node: Node, observed: Identity) -> None:
        """A virtual node turns out to be a real object; who knew it by other coordinates may have been wrong."""
        if observed == node.identity:
            return
        _, doubtful = _partition(node.dependents.values(), observed)
        node.identity = observed
        for dependent in doubtful:
            if observed.namespace and dependent.identity.namespace != observed.namespace:
                self._report(dependent, observed)
            self._look_at(dependent.identity.uid)

    def _take_owners(self, node: Node, references: Sequence[Reference]) -> None:
        before = {ref.get("uid", ""): ref for ref in node.owners}
        after = {ref.get("uid", ""): ref for ref in references}
        if before == after:
            return
        node.owners = references
        for uid, old in before.items():
            if (
                old.get("blockOwnerDeletion")
                and not after.get(uid, {}).get("blockOwnerDeletion")
                and uid in self._nodes
            ):
                self._look_at(uid)  # it may have waited for this dependent
        self._add_to_owners(node, [ref for uid, ref in after.items() if uid not in before])
        for uid in before.keys() - after.keys():
            if uid in self._nodes:
                self._nodes[uid].dependents.pop(node.identity.uid, None)

    def _add_to_owners(self, node: Node, references: Iterable[Reference]) -> None:
        is_doubtful = False
        for reference in references:
            uid = reference.get("uid", "")
            owner = self._nodes.get(uid)
            if owner is None:
                owner = self._nodes[uid] = Node(identity_of(reference, node.identity.namespace))
                self._look_at(uid)  # is it there at all?
            else:
                is_doubtful = self._is_doubtful(node, reference, owner) or is_doubtful
            owner.dependents[node.identity.uid] = node
        if is_doubtful:
            self._look_at(node.identity.uid)

    def _is_doubtful(self, node: Node, reference: Reference, owner: Node) -> bool:
        """Whether a reference does not fit what is known of the owner."""
        namespace = owner.identity.namespace
        if namespace and namespace != node.identity.namespace:
            if not owner.is_virtual:
                self._report(node, identity_of(reference, node.identity.namespace))
            return True
        if not owner.identity.is_meant_by(reference):
            return True
        return owner.is_virtual and namespace != node.identity.namespace

    def _begin_deletion(self, node: Node, before: ReadOnlyObject | None, after: ReadOnlyObject) -> None:
        if _is_deleted_with(ORPHAN, after):
            if before is None or not _is_deleted_with(ORPHAN, before):
                self._orphan(node.identity.uid)
        elif _is_deleted_with(FOREGROUND, after) and not node.is_deleting_dependents:
            node.is_deleting_dependents = True
            for uid in node.dependents:
                self._look_at(uid)
            self._look_at(node.identity.uid)

    def _remove(self, node: Node, identity: Identity) -> None:
        del self._nodes[node.identity.uid]
        for reference in node.owners:
            owner = self._nodes.get(reference.get("uid", ""))
            if owner is not None:
                owner.dependents.pop(node.identity.uid, None)
                if owner.is_deleting_dependents:
                    self._look_at(owner.identity.uid)
        if node.dependents:
            self.absent_owners.add(identity)
        for uid in node.dependents:
            self._look_at(uid)

    def _look_at_dependents_of_absent(self, dependents: Sequence[Node], identity: Identity) -> None:
        if dependents:
            self.absent_owners.add(identity)
        for dependent in dependents:
            self._look_at(dependent.identity.uid)

    def _try_alternative(self, node: Node, dependents: Iterable[Node], absent: Identity) -> None:
        """Dependents disagree on what a virtual owner is called: look for it under its next name."""
        if node.identity != absent:
            return
        alternative = alternative_identity(dependents, absent)
        if alternative is not None:
            node.identity = alternative
            self._look_at(alternative.uid)


def alternative_identity(dependents: Iterable[Node], absent: Identity) -> Identity | None:
    """Another identity by which dependents know the uid: the next after `absent` in order, or else the first."""
    alternatives = set()
    for dependent in dependents:
        for reference in dependent.owners:
            if reference.get("uid") != absent.uid:
                continue
            identity = identity_of(reference, dependent.identity.namespace)
            is_of_cluster = not absent.namespace and identity[:2] == absent[:2]
            alternatives.add(identity._replace(namespace="") if is_of_cluster else identity)
    alternatives.discard(absent)
    following = [identity for identity in alternatives if identity > absent]
    return min(following or alternatives, default=None)


def _partition(dependents: Iterable[Node], identity: Identity) -> tuple[list[Node], list[Node]]:
    """Dependents with a reference that means `identity`, and those that know its uid by other coordinates."""
    matching, differing = [], []
    for dependent in dependents:
        if identity.namespace and dependent.identity.namespace != identity.namespace:
            differing.append(dependent)
            continue
        meant = [identity.is_meant_by(ref) for ref in dependent.owners if ref.get("uid") == identity.uid]
        if any(meant):
            matching.append(dependent)
        if not all(meant):
            differing.append(dependent)
    return matching, differing


def _is_deleted_with(finalizer: str, obj: ReadOnlyObject) -> bool:
    return is_being_deleted(obj) and finalizer in finalizers_of(obj)
