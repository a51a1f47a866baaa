"""ReplicaSets and ReplicationControllers are one loop; this is all they differ in."""

from __future__ import annotations

from dataclasses import dataclass

from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from kubeloop.apimachinery.selectors import Selector


@dataclass(frozen=True, slots=True)
class ReplicaKind:
    resource: Resource
    queue: str
    component: str
    counts_terminating: bool

    def selector_of(self, owner: ReadOnlyObject) -> Selector:
        """A ReplicationController's selector is a plain map, and without one it selects nothing."""
        selector = owner["spec"].get("selector")
        if self.resource == REPLICATION_CONTROLLERS:
            return selectors.from_labels(selector) if selector else selectors.NOTHING
        return selectors.from_label_selector(selector)


REPLICA_SET = ReplicaKind(REPLICA_SETS, "replicaset", "replicaset-controller", counts_terminating=True)
REPLICATION_CONTROLLER = ReplicaKind(
    REPLICATION_CONTROLLERS, "replicationmanager", "replication-controller", counts_terminating=False
)
