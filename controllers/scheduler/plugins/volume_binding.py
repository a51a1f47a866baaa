"""VolumeBinding: claims that are bound lead the pod to their volumes; claims that wait for it get one where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from controllers import claims
from controllers.scheduler.events import (
    ADD,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
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
from controllers.scheduler.interface import (
    CycleState,
    FilterPlugin,
    Handle,
    PreBindPlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_claims import PodClaim, if_claimed, pod_claims
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, failed, unresolvable
from controllers.scheduler.volume_binder import BindingFailed, Found, VolumeBinder, Wanted
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, annotations_of, is_being_deleted, name_of
from kubeloop.apimachinery.quantity import parse

NAME = "VolumeBinding"
UNBOUND = Status(Code.UNRESOLVABLE, ("pod has unbound immediate PersistentVolumeClaims",), NAME)
_TIMEOUT_SECONDS = 600
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


@dataclass(slots=True)
class _Plan:
    """What the pod wants, what it would get by node, and what was assumed for the one that was chosen."""

    wanted: Wanted
    by_node: dict[str, Found] = field(default_factory=dict)
    assumed: Found | None = None


class VolumeBinding(PreFilterPlugin, FilterPlugin, ReservePlugin, PreBindPlugin):
    """`bindTimeoutSeconds` of its arguments is how long a pod waits for its volumes once it has a node."""

    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._binder = VolumeBinder(handle, handle.args.get("bindTimeoutSeconds", _TIMEOUT_SECONDS))

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        found: list[Object] = []
        for one in pod_claims(pod):
            claim = self._binder.claims.get(one.key)
            if claim is None or (why := _why_not_usable(pod, one, claim)):
                return unresolvable(_missing(one) if claim is None else why)
            found.append(claim)
        if not found:
            return SKIP
        bound = [claim for claim in found if claims.is_bound(claim)]
        delayed = [claim for claim in found if not claims.is_bound(claim) and self._is_delayed(claim)]
        if len(bound) + len(delayed) < len(found):
            return UNBOUND
        state[NAME] = _Plan(Wanted(bound, delayed, self._binder.volumes_of_classes(delayed)))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        found = self._binder.find(state[NAME].wanted, node)
        if isinstance(found, Found):
            state[NAME].by_node[node.name] = found
            return None
        return unresolvable(*found)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        plan: _Plan | None = state.get(NAME)
        found = plan.by_node.get(node_name) if plan is not None else None
        if plan is not None and found is not None and not found.is_nothing:
            plan.assumed = self._binder.assume(found, node_name)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        plan: _Plan | None = state.get(NAME)
        if plan is not None and plan.assumed is not None:
            self._binder.restore(plan.assumed)
            plan.assumed = None

    def will_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        plan: _Plan | None = state.get(NAME)
        return plan is not None and plan.assumed is not None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        plan: _Plan | None = state.get(NAME)
        if plan is None or plan.assumed is None:
            return SKIP
        try:
            await self._binder.bind(pod, plan.assumed, node_name)
        except BindingFailed as error:
            return failed(str(error))
        return None

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(STORAGE_CLASS, ADD | UPDATE), _if_topologies_changed),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD | UPDATE), if_claimed),
            RegisteredEvent(ClusterEvent(PERSISTENT_VOLUME, ADD | UPDATE)),
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL)),
            RegisteredEvent(ClusterEvent(CSI_NODE, ADD | UPDATE), _if_plugins_migrated),
            RegisteredEvent(ClusterEvent(CSI_DRIVER, UPDATE), _if_space_is_no_matter),
            RegisteredEvent(ClusterEvent(CSI_STORAGE_CAPACITY, ADD | UPDATE), _if_space_grew),
        )

    def _is_delayed(self, claim: Object) -> bool:
        storage_class = self._binder.classes.get(ObjectKey("", claims.class_of(claim)))
        return claims.is_delayed(storage_class) and not claims.volume_name(claim)


def _missing(one: PodClaim) -> str:
    if one.is_ephemeral:
        name = go_quote(one.key.name)
        return f"waiting for ephemeral volume controller to create the persistentvolumeclaim {name}"
    return one.missing


def _why_not_usable(pod: PodInfo, one: PodClaim, claim: Object) -> str:
    name = go_quote(name_of(claim))
    if (claim.get("status") or {}).get("phase") == "Lost":
        volume = go_quote(claims.volume_name(claim))
        return f"persistentvolumeclaim {name} bound to non-existent persistentvolume {volume}"
    if is_being_deleted(claim):
        return f"persistentvolumeclaim {name} is being deleted"
    return claims.why_not_for_pod(pod.pod, claim) if one.is_ephemeral else ""


def _if_topologies_changed(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if new is None:
        return Hint.SKIP
    is_same = old is not None and old.get("allowedTopologies") == new.get("allowedTopologies")
    return Hint.SKIP if is_same else Hint.QUEUE


def _if_plugins_migrated(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if old is None or new is None:
        return Hint.QUEUE
    has_changed = annotations_of(old).get(_MIGRATED_PLUGINS) != annotations_of(new).get(_MIGRATED_PLUGINS)
    return Hint.QUEUE if has_changed else Hint.SKIP


def _if_space_is_no_matter(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """The driver of one of the pod's inline volumes does not publish its capacity any more."""
    if old is None or new is None or not (old.get("spec") or {}).get("storageCapacity"):
        return Hint.SKIP
    if (new.get("spec") or {}).get("storageCapacity"):
        return Hint.SKIP
    drivers = {(volume.get("csi") or {}).get("driver") for volume in pod.spec.get("volumes") or ()}
    return Hint.QUEUE if name_of(new) in drivers else Hint.SKIP


def _if_space_grew(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    if new is None:
        return Hint.SKIP
    if old is None:
        return Hint.QUEUE
    before, after = _space(old), _space(new)
    has_grown = after is not None and (before is None or parse(before) < parse(after))
    return Hint.QUEUE if has_grown else Hint.SKIP


def _space(capacity: ReadOnlyObject) -> str | None:
    return capacity.get("maximumVolumeSize") or capacity.get("capacity")
