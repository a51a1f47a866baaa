"""Which claims a pod uses, and what of a claim's status matters to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controllers.device_claims import consumers_of
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, controller_of, is_being_deleted

FINALIZER = "resource.kubernetes.io/delete-protection"


class NotReady(Exception):
    """A claim that the pod names is not there to be allocated; the text says why."""


def claims_of(pod: PodInfo, claim_named: Callable[[ObjectKey], Object | None]) -> list[Object]:
    """Raises NotReady."""
    return list(_each(pod, claim_named)) if pod.spec.get("resourceClaims") else []


def is_reserved_for(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    return any(consumer.get("uid") == pod.uid for consumer in consumers_of(claim))


def without_devices(claim: ReadOnlyObject) -> Object:
    """The claim with its devices given back."""
    kept = {k: v for k, v in claim["status"].items() if k not in ("reservedFor", "allocation", "devices")}
    return {**claim, "status": kept}


def _each(pod: PodInfo, claim_named: Callable[[ObjectKey], Object | None]) -> Iterator[Object]:
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
        claim = claim_named(ObjectKey(pod.namespace, name))
        if claim is None:
            raise NotReady(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if is_being_deleted(claim):
            raise NotReady(f'resourceclaim "{name}" is being deleted')
        if entry.get("resourceClaimName") is None and not _is_made_for(claim, pod):
            raise NotReady(f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)")
        yield claim


def _is_made_for(claim: ReadOnlyObject, pod: PodInfo) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner.get("uid") == pod.uid
