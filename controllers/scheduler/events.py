"""Cluster events: what happened to which resource, and which plugins care (EventsToRegister).

The event handlers turn informer changes into ClusterEvents; the queue asks the plugins that refused a pod whether the
event may have made it schedulable. Follows pkg/scheduler/framework/events.go and types.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from controllers.scheduler.requests import pod_requests, request_fields
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, labels_of

if TYPE_CHECKING:
    from controllers.scheduler.pod_info import PodInfo

# Action types are bits; a plugin registers a union of them.
ADD = 1 << 0
DELETE = 1 << 1
UPDATE_NODE_ALLOCATABLE = 1 << 2
UPDATE_NODE_LABEL = 1 << 3
UPDATE_NODE_TAINT = 1 << 4
UPDATE_NODE_CONDITION = 1 << 5
UPDATE_NODE_ANNOTATION = 1 << 6
UPDATE_POD_LABEL = 1 << 7
UPDATE_POD_SCALE_DOWN = 1 << 8
UPDATE_POD_TOLERATION = 1 << 9
UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 10
UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 11
UPDATE_NODE_DECLARED_FEATURE = 1 << 12
ALL = (1 << 13) - 1
UPDATE = ALL & ~ADD & ~DELETE
_ACTION_NAMES = {
    ADD: "Add",
    DELETE: "Delete",
    UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    UPDATE_NODE_LABEL: "UpdateNodeLabel",
    UPDATE_NODE_TAINT: "UpdateNodeTaint",
    UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    UPDATE_POD_LABEL: "UpdatePodLabel",
    UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    UPDATE_POD_TOLERATION: "UpdatePodToleration",
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    UPDATE: "Update",
    ALL: "All",
}

# Event resources; plugins register POD, events say which sort of pod it was.
POD = "Pod"
ASSIGNED_POD = "AssignedPod"
UNSCHEDULED_POD = "UnschedulablePod"
NODE = "Node"
NAMESPACE = "Namespace"  # not one of upstream's
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"
WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that may have made pods schedulable."""

    resource: str
    action: int
    label: str = ""

    @property
    def name(self) -> str:
        """As metrics name it."""
        return self.label or f"{self.resource}{_ACTION_NAMES.get(self.action, '')}"

    @property
    def is_wildcard(self) -> bool:
        return self.resource == WILDCARD and self.action == ALL

    def covers(self, incoming: ClusterEvent) -> bool:
        """Whether a plugin that registered this one is to hear of `incoming`.

        An update of no particular sort (UPDATE) reaches only those that registered every update.
        """
        if self.is_wildcard:
            return True
        same_resource = self.resource in (WILDCARD, incoming.resource) or (
            self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULED_POD)
        )
        return same_resource and bool(self.action & incoming.action) and incoming.action <= self.action


ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULED_POD, ADD)
NODE_ADD = ClusterEvent(NODE, ADD)
NODE_DELETE = ClusterEvent(NODE, DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(WILDCARD, ALL, "ForceActivate")

# Why else a pod comes into a queue, as metrics name it.
ATTEMPT_FAILED, BACKOFF_COMPLETE, POPPED_FROM_BACKOFF = "ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ"


class Hint(IntEnum):
    """A plugin's answer to an event about a pod it refused."""

    SKIP = 0
    QUEUE = 1


# hint(pod, old, new): old is None for an addition, new is None for a deletion.
HintFunction = Callable[["PodInfo", "ReadOnlyObject | None", "ReadOnlyObject | None"], Hint]


def always_queue(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """The hint of a plugin that does not look closer."""
    return Hint.QUEUE


@dataclass(frozen=True, slots=True)
class RegisteredEvent:
    """One line of a plugin's table of events."""

    event: ClusterEvent
    hint: HintFunction = always_queue


# Of a plugin that does not say what could overcome its refusal.
ANY_EVENT: Sequence[RegisteredEvent] = tuple(
    RegisteredEvent(ClusterEvent(resource, ALL))
    for resource in (
        POD,
        NODE,
        NAMESPACE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        STORAGE_CLASS,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        VOLUME_ATTACHMENT,
        RESOURCE_CLAIM,
        RESOURCE_SLICE,
        DEVICE_CLASS,
    )
)


def pod_update_events(old: ReadOnlyObject, new: ReadOnlyObject) -> list[ClusterEvent]:
    """What an update of a pod means for scheduling; the general UPDATE where it is nothing in particular."""
    resource = ASSIGNED_POD if (new.get("spec") or {}).get("nodeName") else UNSCHEDULED_POD
    actions = [
        action
        for action, changed in (
            (UPDATE_POD_LABEL, labels_of(old) != labels_of(new)),
            (UPDATE_POD_SCALE_DOWN, _is_scaled_down(old, new)),
            (
                UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                _length(new, "schedulingGates") == 0 < _length(old, "schedulingGates"),
            ),
            (UPDATE_POD_TOLERATION, _length(old, "tolerations") != _length(new, "tolerations")),
            (UPDATE_POD_GENERATED_RESOURCE_CLAIM, _claim_statuses(old) != _claim_statuses(new)),
        )
        if changed
    ]
    return [ClusterEvent(resource, action) for action in actions] or [ClusterEvent(resource, UPDATE)]


def followed_pod_update_events(old: ReadOnlyObject, new: ReadOnlyObject) -> list[ClusterEvent]:
    """The same for a placed pod of which nothing changed that its PodInfo has (PodInfo.follow): a kubelet's report."""
    action = UPDATE if _claim_statuses(old) == _claim_statuses(new) else UPDATE_POD_GENERATED_RESOURCE_CLAIM
    return [ClusterEvent(ASSIGNED_POD, action)]


def node_update_events(old: ReadOnlyObject, new: ReadOnlyObject) -> list[ClusterEvent]:
    """What an update of a node means for scheduling; nothing, for a heartbeat."""
    old_spec, new_spec = old.get("spec") or {}, new.get("spec") or {}
    old_status, new_status = old.get("status") or {}, new.get("status") or {}
    actions = [
        action
        for action, changed in (
            (UPDATE_NODE_TAINT, bool(old_spec.get("unschedulable")) and not new_spec.get("unschedulable")),
            (UPDATE_NODE_ALLOCATABLE, (old_status.get("allocatable") or {}) != (new_status.get("allocatable") or {})),
            (UPDATE_NODE_LABEL, labels_of(old) != labels_of(new)),
            (UPDATE_NODE_TAINT, (old_spec.get("taints") or []) != (new_spec.get("taints") or [])),
            (UPDATE_NODE_CONDITION, _condition_statuses(old_status) != _condition_statuses(new_status)),
            (UPDATE_NODE_ANNOTATION, annotations_of(old) != annotations_of(new)),
            (UPDATE_NODE_DECLARED_FEATURE, _declared_features(old_status) != _declared_features(new_status)),
        )
        if changed
    ]
    return [ClusterEvent(NODE, action) for action in actions]


def _length(pod: ReadOnlyObject, field: str) -> int:
    return len((pod.get("spec") or {}).get(field) or ())


def _is_scaled_down(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    if request_fields(old) == request_fields(new):
        return False
    before, after = pod_requests(old), pod_requests(new)
    return any(after.get(name, 0) < amount for name, amount in before.items())


def _claim_statuses(pod: ReadOnlyObject) -> Sequence[Any]:
    return (pod.get("status") or {}).get("resourceClaimStatuses") or ()


def _declared_features(status: Mapping[str, Any]) -> Sequence[str]:
    return status.get("declaredFeatures") or ()


def _condition_statuses(status: Mapping[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition.get("status", "") for condition in status.get("conditions") or ()}
