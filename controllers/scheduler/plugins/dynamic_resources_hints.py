"""What may get a pod its devices: who refused it hears of its claims, and of devices that come free."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controllers.device_claims import allocation_of
from controllers.scheduler.dynamic_resources.pod_claims import NotReady, claims_of
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
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, uid_of


class Hints:
    def __init__(self, claim_named: Callable[[ObjectKey], Object | None]) -> None:
        self._claim_named = claim_named

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
            claims = claims_of(pod, self._claim_named)
        except NotReady:
            return Hint.SKIP
        if new is None:
            return Hint.SKIP
        if old is not None and allocation_of(old) is not None and allocation_of(new) is None:
            return Hint.QUEUE
        is_used = any(uid_of(claim) == uid_of(new) for claim in claims)
        return Hint.QUEUE if is_used and (old is None or old.get("status") != new.get("status")) else Hint.SKIP

    def _after_pod_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        """The pod's own claims have been made."""
        if new is None or uid_of(new) != pod.uid:
            return Hint.SKIP
        try:
            claims_of(PodInfo(new), self._claim_named)
        except NotReady:
            return Hint.SKIP
        return Hint.QUEUE
