"""The devices that a pod claims: its containers start when every claim is allocated and kept for the pod.

What a driver does to make devices ready always succeeds at once. Words: pkg/kubelet/cm/dra/manager.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    is_controlled_by,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import RESOURCE_CLAIMS
from kubeloop.client.api import Api


async def device_error(api: Api, pod: ReadOnlyObject) -> str:
    """The first claim that keeps the pod from starting, in a kubelet's words; "" where none does."""
    for name, is_own in _claims_of(pod):
        if name is None:
            return f'pod "{key_of(pod)}": ResourceClaim not created yet'
        try:
            claim = await api.get(RESOURCE_CLAIMS, name, namespace_of(pod))
        except NotFound as error:
            return f"fetch ResourceClaim {name}: {error.message}"
        if is_own and not is_controlled_by(claim, pod):
            return f"ResourceClaim {key_of(claim)} was not created for Pod {key_of(pod)} (Pod is not owner)"
        if why := _why_not_usable(claim, pod):
            return why
    return ""


def _claims_of(pod: ReadOnlyObject) -> Iterator[tuple[str | None, bool]]:
    """The name of each claim, None where it is not made yet, and whether it must be the pod's own."""
    made = {one["name"]: one.get("resourceClaimName") for one in pod["status"].get("resourceClaimStatuses") or ()}
    for entry in pod["spec"].get("resourceClaims") or ():
        if "resourceClaimName" in entry:
            yield entry["resourceClaimName"], False
        elif entry["name"] not in made:
            yield None, True
        elif made[entry["name"]] is not None:  # else the template made none, on purpose
            yield made[entry["name"]], True


def _why_not_usable(claim: Object, pod: ReadOnlyObject) -> str:
    status = claim.get("status") or {}
    if not any(consumer.get("uid") == uid_of(pod) for consumer in status.get("reservedFor") or ()):
        names = f"{name_of(claim)} ({uid_of(claim)})"
        return f"pod {name_of(pod)} ({uid_of(pod)}) is not allowed to use ResourceClaim {names}"
    if status.get("allocation") is None:
        return f"ResourceClaim {name_of(claim)}: not allocated"
    return ""
