"""NodeVolumeLimits: a node can attach only so many volumes of a CSI driver, as its CSINode says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from controllers import claims
from controllers.scheduler.events import (
    ADD,
    CSI_NODE,
    DELETE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    UPDATE,
    VOLUME_ATTACHMENT,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import CycleState, FilterPlugin, Handle, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_claims import if_claimed, pod_claims
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of
from kubeloop.apimachinery.resource import (
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)

NAME = "NodeVolumeLimits"
EXCEEDED = Status(Code.UNSCHEDULABLE, ("node(s) exceed max volume count",), NAME)

Attachable = tuple[str, str]  # a CSI driver and its handle of a volume


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._claims = handle.lister(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = handle.lister(PERSISTENT_VOLUMES)
        self._classes = handle.lister(STORAGE_CLASSES)
        self._csi_nodes = handle.lister(CSI_NODES)
        self._attachments = handle.lister(VOLUME_ATTACHMENTS)

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        """What the pod would attach is the same on every node."""
        if not any(pod_claims(pod)):
            return SKIP
        state[NAME] = self._of_pod(pod)  # claims that are missing or not the pod's are VolumeBinding's to refuse
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        limits = _limits(self._csi_nodes.get(ObjectKey("", node.name)))
        if not limits or not state[NAME]:
            return None
        by_pods = {found for other in node.pods.values() for found in self._of_pod(other)}
        attached = Counter(driver for driver, _ in by_pods | self._attached(node.name))
        wanted = Counter(driver for driver, _ in state[NAME] - by_pods)
        is_too_much = any(driver in limits and attached[driver] + n > limits[driver] for driver, n in wanted.items())
        return EXCEEDED if is_too_much else None

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(CSI_NODE, ADD)),
            RegisteredEvent(ClusterEvent(CSI_NODE, UPDATE), _if_limit_grew),
            RegisteredEvent(ClusterEvent(POD, DELETE), _if_it_had_claims),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD), if_claimed),
            RegisteredEvent(ClusterEvent(VOLUME_ATTACHMENT, DELETE), _if_it_has_claims),
        )

    def _of_pod(self, pod: PodInfo) -> set[Attachable]:
        claims_of_pod = (self._claims.get(one.key) for one in pod_claims(pod))
        return {found for claim in claims_of_pod if claim is not None for found in self._attachable(claim)}

    def _attached(self, node_name: str) -> set[Attachable]:
        """What is attached to the node, whoever uses it."""
        found = set()
        for attachment in self._attachments.list():
            spec = attachment["spec"]
            name = (spec.get("source") or {}).get("persistentVolumeName")
            if spec.get("nodeName") == node_name and spec.get("attacher") and name:
                csi = _csi(self._volumes.get(ObjectKey("", name)))
                if csi is not None:
                    found.add((spec["attacher"], csi["volumeHandle"]))
        return found

    def _attachable(self, claim: Object) -> set[Attachable]:
        """The claim's volume, or the one that its class will have made; nothing if no driver attaches it."""
        volume = self._volumes.get(ObjectKey("", claims.volume_name(claim))) if claims.volume_name(claim) else None
        if volume is not None:
            csi = _csi(volume)
            return {(csi["driver"], csi["volumeHandle"])} if csi is not None else set()
        storage_class = self._classes.get(ObjectKey("", claims.class_of(claim)))
        if storage_class is None:
            return set()
        return {(storage_class["provisioner"], f"to be made for {key_of(claim)}")}


def _csi(volume: ReadOnlyObject | None) -> Mapping[str, str] | None:
    return None if volume is None else volume["spec"].get("csi")


def _limits(csi_node: ReadOnlyObject | None) -> dict[str, int]:
    drivers = ((csi_node or {}).get("spec") or {}).get("drivers") or ()
    counts = ((driver["name"], (driver.get("allocatable") or {}).get("count")) for driver in drivers)
    return {name: count for name, count in counts if count is not None}


def _if_limit_grew(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    before, after = _limits(old), _limits(new)
    return Hint.QUEUE if any(limit > before.get(name, 0) for name, limit in after.items()) else Hint.SKIP


def _if_it_had_claims(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if old is None:
        return Hint.SKIP
    gone = PodInfo(old)
    was_placed = gone.node_name or gone.nominated_node_name
    return Hint.QUEUE if was_placed and any(pod_claims(gone)) else Hint.SKIP


def _if_it_has_claims(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    return Hint.QUEUE if pod.claim_keys else Hint.SKIP
