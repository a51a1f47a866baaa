"""VolumeRestrictions: disks that only one pod may write to, and claims that only one pod may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controllers.claims import access_modes
from controllers.scheduler.events import (
    ADD,
    DELETE,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import CycleState, FilterPlugin, Handle, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_claims import PodClaim, if_mounted
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, unresolvable
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS

NAME = "VolumeRestrictions"
DISK_CONFLICT = Status(Code.UNSCHEDULABLE, ("node(s) had no available disk",), NAME)
IN_USE = Status(
    Code.UNSCHEDULABLE,
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
        " another pod",
    ),
    NAME,
)
Volume = Mapping[str, Any]


@dataclass(slots=True)
class _Exclusive:
    """The pod's claims that nobody else may use, and how many uses there are already."""

    claims: frozenset[ObjectKey]
    uses: int

    def clone(self) -> _Exclusive:
        return replace(self)


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._claims = handle.lister(PERSISTENT_VOLUME_CLAIMS)

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        exclusive = set()
        for key in pod.claim_keys:
            claim = self._claims.get(key)
            if claim is None:
                return unresolvable(PodClaim(key).missing)
            if "ReadWriteOncePod" in access_modes(claim):
                exclusive.add(key)
        uses = sum(any(key in node.claims for node in state.snapshot.nodes) for key in exclusive)
        if not uses and not any(_is_restricted(volume) for volume in _volumes(pod.pod)):
            return SKIP
        state[NAME] = _Exclusive(frozenset(exclusive), uses)
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        state[NAME].uses += _uses(added, state[NAME].claims)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        state[NAME].uses -= _uses(removed, state[NAME].claims)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if any(conflict(pod.pod, other.pod) for other in node.pods.values()):
            return DISK_CONFLICT
        return IN_USE if state[NAME].uses > 0 else None

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(POD, DELETE), _after_pod_deletion),
            RegisteredEvent(ClusterEvent(NODE, ADD)),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD), if_mounted),
        )


def conflict(pod: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Whether the two cannot be on one node for a disk that both name themselves."""
    restricted = [volume for volume in _volumes(pod) if _is_restricted(volume)]
    return any(_same_disk(volume, existing) for volume in restricted for existing in _volumes(other))


def _same_disk(volume: Volume, existing: Volume) -> bool:
    """Read-only use by both is fine, but for EBS."""
    for source, is_same in _SAME.items():
        one, two = volume.get(source), existing.get(source)
        if one is not None and two is not None and is_same(one, two):
            shared = source != _EBS and one.get("readOnly") and two.get("readOnly")
            if not shared:
                return True
    return False


_EBS = "awsElasticBlockStore"
_SAME = {
    "gcePersistentDisk": lambda one, two: one["pdName"] == two["pdName"],
    _EBS: lambda one, two: one["volumeID"] == two["volumeID"],
    "iscsi": lambda one, two: one["iqn"] == two["iqn"],
    "rbd": lambda one, two: (
        bool(set(one["monitors"]) & set(two["monitors"]))
        and one.get("pool") == two.get("pool")
        and one["image"] == two["image"]
    ),
}


def _is_restricted(volume: Volume) -> bool:
    return any(source in volume for source in _SAME)


def _volumes(pod: ReadOnlyObject) -> Sequence[Volume]:
    return (pod.get("spec") or {}).get("volumes") or ()


def _uses(pod: PodInfo, claims: frozenset[ObjectKey]) -> int:
    return sum(key in claims for key in pod.claim_keys)


def _after_pod_deletion(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """The pod that went held a disk or a claim that this one wants."""
    if old is None:
        return Hint.SKIP
    gone = PodInfo(old)
    if gone.namespace != pod.namespace:
        return Hint.SKIP
    is_free = conflict(pod.pod, old) or bool(set(gone.claim_keys) & set(pod.claim_keys))
    return Hint.QUEUE if is_free else Hint.SKIP
