"""Which claim a pod means, and who uses one. Pure; dynamic-resource-allocation/resourceclaim, v1.36."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllers.device_claims import allocation_of, consumers_of
from controllers.pods import is_terminal, node_of
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    controller_of,
    is_being_deleted,
    is_controlled_by,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)

POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
MOST_CONSUMERS = 256
# Room for a hyphen and five random characters within 63.
_MAX_BASE = 57

PodClaim = Mapping[str, Any]


class NotCreatedYet(Exception):
    """The pod's status does not name the claim that is to be made from a template."""


def pod_claims(pod: ReadOnlyObject) -> Sequence[PodClaim]:
    claims: Sequence[PodClaim] = (pod.get("spec") or {}).get("resourceClaims") or ()
    return claims


def has_claims(pod: ReadOnlyObject) -> bool:
    return bool(pod_claims(pod))


def statuses(pod: ReadOnlyObject) -> dict[str, str | None]:
    """What the status says of each claim from a template: its name, None where none is needed."""
    found = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return {status["name"]: status.get("resourceClaimName") for status in found}


def name_in(pod: ReadOnlyObject, claim: PodClaim) -> tuple[str | None, bool]:
    """The claim's name, None where none is needed, and whether it must be the pod's own. Raises NotCreatedYet."""
    if "resourceClaimName" in claim:
        return claim["resourceClaimName"], False
    known = statuses(pod)
    if claim["name"] not in known:
        raise NotCreatedYet("ResourceClaim not created yet")
    return known[claim["name"]], True


def claim_names(pod: ReadOnlyObject) -> list[str]:
    """Every claim that the pod is known to use, the one the scheduler made for extended resources included."""
    names = []
    for claim in pod_claims(pod):
        try:
            name, _ = name_in(pod, claim)
        except NotCreatedYet:
            continue
        if name:
            names.append(name)
    extended = (pod.get("status") or {}).get("extendedResourceClaimStatus")
    if extended:
        names.append(extended["resourceClaimName"])
    return names


def template_names(pod: ReadOnlyObject) -> list[str]:
    return [claim["resourceClaimTemplateName"] for claim in pod_claims(pod) if "resourceClaimTemplateName" in claim]


def why_not_for_pod(pod: ReadOnlyObject, claim: ReadOnlyObject) -> str:
    """Says so where a claim was not made for this pod; "" where it was."""
    if namespace_of(pod) == namespace_of(claim) and is_controlled_by(claim, pod):
        return ""
    return f"ResourceClaim {key_of(claim)} was not created for pod {key_of(pod)} (pod is not owner)"


def wants_reservation(pod: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """Whether a pod that came to its node without the scheduler still has to reserve the claim."""
    is_reserved = any(consumer["uid"] == uid_of(pod) for consumer in consumers_of(claim))
    return allocation_of(claim) is not None and not is_reserved and len(consumers_of(claim)) < MOST_CONSUMERS


def is_done(pod: ReadOnlyObject) -> bool:
    """It has ended, or will never run."""
    return is_terminal(pod) or (is_being_deleted(pod) and not node_of(pod))


def owning_pod(claim: ReadOnlyObject) -> tuple[str, str]:
    """Name and uid of the pod that the claim was made for; empty where it was made by hand."""
    owner = controller_of(claim)
    if owner is None or owner.get("apiVersion") != "v1" or owner.get("kind") != "Pod":
        return "", ""
    return owner["name"], owner["uid"]


def claim_from(template: ReadOnlyObject, pod: ReadOnlyObject, name: str) -> Object:
    """The claim that the template describes, the pod's own."""
    metadata = template["spec"].get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod), "controller": True}
    made: Object = {
        "metadata": {
            "generateName": _base(name_of(pod), name),
            "ownerReferences": [owner],
            "annotations": {**(metadata.get("annotations") or {}), POD_CLAIM_ANNOTATION: name},
        },
        "spec": template["spec"]["spec"],
    }
    if labels := labels_of({"metadata": metadata}):
        made["metadata"]["labels"] = dict(labels)
    return made


def _base(pod: str, claim: str) -> str:
    """Both names, each cut in proportion where they are too long together."""
    whole = f"{pod}-{claim}-"
    if len(whole) <= _MAX_BASE:
        return whole
    return f"{pod[: len(pod) * _MAX_BASE // len(whole)]}-{claim[: len(claim) * _MAX_BASE // len(whole)]}"
