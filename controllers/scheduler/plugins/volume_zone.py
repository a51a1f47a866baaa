"""VolumeZone: volumes that say by their labels in which zones and regions they are."""

from __future__ import annotations

from collections.abc import Sequence

from controllers import claims
from controllers.scheduler.events import (
    ADD,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    UPDATE,
    UPDATE_NODE_LABEL,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import CycleState, FilterPlugin, Handle, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_claims import PodClaim, if_mounted, missing_class, missing_volume
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, unresolvable
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, labels_of
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES

NAME = "VolumeZone"
CONFLICT = Status(Code.UNRESOLVABLE, ("node(s) had no available volume zone",), NAME)

# The label, and what it is called today.
_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_SEPARATOR = "__"
Place = tuple[str, frozenset[str]]  # a label, and the values that will do


class VolumeZone(PreFilterPlugin, FilterPlugin):
    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._claims = handle.lister(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = handle.lister(PERSISTENT_VOLUMES)
        self._classes = handle.lister(STORAGE_CLASSES)

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        wanted: list[Place] = []
        for key in pod.claim_keys:
            claim = self._claims.get(key)
            if claim is None:
                return unresolvable(PodClaim(key).missing)
            name = claims.volume_name(claim)
            if not name:
                if (refusal := self._why_not_later(claim)) is not None:
                    return refusal
                continue
            volume = self._volumes.get(ObjectKey("", name))
            if volume is None:
                return unresolvable(missing_volume(name))
            wanted += places(volume)
        if not wanted:
            return SKIP
        state[NAME] = wanted
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """A node that says nothing about itself can have any volume."""
        if not any(label in node.labels for label in _LABELS):
            return None
        for label, values in state[NAME]:
            if node.labels.get(label, node.labels.get(_LABELS[label])) not in values:
                return CONFLICT
        return None

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(STORAGE_CLASS, ADD), _if_delayed),
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL)),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD | UPDATE), if_mounted),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME, ADD | UPDATE), _if_moved),
        )

    def _why_not_later(self, claim: Object) -> Status | None:
        """A claim without a volume is fine only if it waits for the pod."""
        name = claims.class_of(claim)
        if not name:
            return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._classes.get(ObjectKey("", name))
        if storage_class is None:
            return unresolvable(missing_class(name))
        return None if claims.is_delayed(storage_class) else unresolvable("PersistentVolume had no name")


def places(volume: ReadOnlyObject) -> list[Place]:
    """Where the volume is; labels that make no sense are ignored."""
    found = []
    for label in _LABELS:
        values = [value.strip() for value in labels_of(volume).get(label, "").split(_SEPARATOR)]
        if all(values):
            found.append((label, frozenset(values)))
    return found


def _if_delayed(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    return Hint.QUEUE if claims.is_delayed(new) else Hint.SKIP


def _if_moved(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if new is None:
        return Hint.SKIP
    return Hint.QUEUE if old is None or places(old) != places(new) else Hint.SKIP
