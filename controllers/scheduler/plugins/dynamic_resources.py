"""DynamicResources: pods with resource claims (DRA).

There are no resource drivers in this control plane, so nothing ever publishes a device and no claim can be allocated: a
pod that asks for one waits, as it does on a real cluster without drivers. Its messages are those of
plugins/dynamicresources (v1.36). Pods without claims only notice that this plugin is asked before preemption when no
node fits, which their message tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controllers.scheduler.events import (
    ADD,
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    UPDATE,
    UPDATE_NODE_ALLOCATABLE,
    UPDATE_NODE_LABEL,
    UPDATE_POD_GENERATED_RESOURCE_CLAIM,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import (
    CycleState,
    FilterPlugin,
    Handle,
    Nomination,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, failed, unresolvable, unschedulable
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, controller_of, is_being_deleted, uid_of
from kubeloop.apimachinery.resource import DEVICE_CLASSES, RESOURCE_CLAIMS

NAME = "DynamicResources"
NO_DEVICES = Status(Code.UNRESOLVABLE, ("cannot allocate all claims",), NAME)


class NotReady(Exception):
    """A claim that the pod names is not there to be allocated; the text says why."""


class DynamicResources(PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, PostFilterPlugin):
    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._claims = handle.lister(RESOURCE_CLAIMS)
        self._classes = handle.lister(DEVICE_CLASSES)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Claims first: they are made from templates after the pod."""
        try:
            self._claims_of(pod)
        except NotReady as error:
            return unresolvable(str(error)).of(NAME)
        return None

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        state[NAME] = ()
        try:
            claims = self._claims_of(pod)
        except NotReady as error:
            return unresolvable(str(error))
        if not claims:
            return SKIP
        for name, class_name in _wanted_classes(claims):
            if self._classes.get(ObjectKey("", class_name)) is None:
                return unresolvable(f"request {name}: device class {class_name} does not exist")
        state[NAME] = claims
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return NO_DEVICES

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        """Nothing to give back. Where an earlier plugin's PreFilter refused the pod, this one was never asked."""
        if NAME not in state:
            return None, failed("not found")
        return None, unschedulable("still not schedulable" if state[NAME] else "no new claims to deallocate")

    def events(self) -> Sequence[RegisteredEvent]:
        return (
            RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_LABEL | UPDATE_NODE_ALLOCATABLE)),
            RegisteredEvent(ClusterEvent(RESOURCE_CLAIM, ADD | UPDATE), self._after_claim_change),
            RegisteredEvent(ClusterEvent(POD, UPDATE_POD_GENERATED_RESOURCE_CLAIM), self._after_pod_change),
            RegisteredEvent(ClusterEvent(DEVICE_CLASS, ADD | UPDATE)),
            RegisteredEvent(ClusterEvent(RESOURCE_SLICE, ADD | UPDATE)),
        )

    def _after_claim_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        """A claim of the pod came or got another status, or devices of another one came free."""
        try:
            claims = self._claims_of(pod)
        except NotReady:
            return Hint.SKIP
        if new is None:
            return Hint.SKIP
        before, after = (old or {}).get("status") or {}, new.get("status") or {}
        if old is not None and before.get("allocation") and not after.get("allocation"):
            return Hint.QUEUE
        is_used = any(uid_of(claim) == uid_of(new) for claim in claims)
        return Hint.QUEUE if is_used and (old is None or before != after) else Hint.SKIP

    def _after_pod_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        """The pod's own claims have been made."""
        if new is None or uid_of(new) != pod.uid:
            return Hint.SKIP
        return Hint.SKIP if self.pre_enqueue(PodInfo(new)) is not None else Hint.QUEUE

    def _claims_of(self, pod: PodInfo) -> Sequence[Object]:
        return list(self._each_claim(pod)) if pod.spec.get("resourceClaims") else ()

    def _each_claim(self, pod: PodInfo) -> Iterator[Object]:
        made = {
            status.get("name"): status.get("resourceClaimName")
            for status in (pod.pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        for entry in pod.spec["resourceClaims"]:
            name = entry.get("resourceClaimName")
            if name is None:
                if entry.get("name") not in made:
                    raise NotReady(f'pod "{pod.key}": ResourceClaim not created yet')
                name = made[entry["name"]]
            if name is None:
                continue  # the template made none, on purpose
            claim = self._claims.get(ObjectKey(pod.namespace, name))
            if claim is None:
                raise NotReady(f'could not find ResourceClaim "{pod.namespace}/{name}"')
            if is_being_deleted(claim):
                raise NotReady(f'resourceclaim "{name}" is being deleted')
            if entry.get("resourceClaimName") is None and not _is_made_for(claim, pod):
                raise NotReady(
                    f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
                )
            yield claim


def _is_made_for(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner.get("uid") == pod.uid


def _wanted_classes(claims: Sequence[Object]) -> Iterator[tuple[str, str]]:
    """Of claims without devices: each request, and the class it asks for."""
    for claim in claims:
        if (claim.get("status") or {}).get("allocation"):
            continue
        for request in _requests(claim):
            if request.get("exactly"):
                yield request["name"], request["exactly"].get("deviceClassName", "")
            for alternative in request.get("firstAvailable") or ():
                yield f"{request['name']}/{alternative['name']}", alternative.get("deviceClassName", "")


def _requests(claim: Object) -> Sequence[Mapping[str, Any]]:
    return ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ()
