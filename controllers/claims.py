"""What loops ask of PersistentVolumeClaims and PersistentVolumes: class, modes, size, who belongs to whom.

The binder, the scheduler, the provisioner and the protection loops share this. Plain functions of objects, as
component-helpers/storage/volume and component-helpers/storage/ephemeral (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    is_controlled_by,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    resource_version_of,
    uid_of,
)
from kubeloop.apimachinery.node_affinity import node_selector
from kubeloop.apimachinery.quantity import ZERO, Quantity, parse
from kubeloop.apimachinery.selectors import Labels, from_label_selector
from kubeloop.client.informer import Informer

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_BY_CLAIM = "by-claim"


def class_of(obj: ReadOnlyObject) -> str:
    """The storage class of a claim or a volume, "" for none."""
    annotated = annotations_of(obj).get(_CLASS_ANNOTATION)
    return annotated if annotated is not None else (obj.get("spec") or {}).get("storageClassName") or ""


def has_class(claim: ReadOnlyObject) -> bool:
    """Whether the claim says anything about its class; "" says that it wants none."""
    spec = claim.get("spec") or {}
    return _CLASS_ANNOTATION in annotations_of(claim) or spec.get("storageClassName") is not None


def is_delayed(storage_class: ReadOnlyObject | None) -> bool:
    """Whether claims of the class wait for a pod that uses them."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def requested(claim: ReadOnlyObject) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return _amount(requests)


def capacity(volume: ReadOnlyObject) -> Quantity:
    return _amount((volume.get("spec") or {}).get("capacity") or {})


def granted(claim: ReadOnlyObject) -> Quantity:
    """The size that the claim has got."""
    return _amount((claim.get("status") or {}).get("capacity") or {})


def _amount(amounts: Mapping[str, Any]) -> Quantity:
    return parse(str(amounts["storage"])) if "storage" in amounts else ZERO


def access_modes(obj: ReadOnlyObject) -> Sequence[str]:
    return (obj.get("spec") or {}).get("accessModes") or ()


def volume_mode(obj: ReadOnlyObject) -> str:
    return (obj.get("spec") or {}).get("volumeMode") or "Filesystem"


def attributes_class(obj: ReadOnlyObject) -> str:
    return (obj.get("spec") or {}).get("volumeAttributesClassName") or ""


def volume_name(claim: ReadOnlyObject) -> str:
    """The volume that the claim names, whether or not it has it."""
    return (claim.get("spec") or {}).get("volumeName") or ""


def claim_ref(volume: ReadOnlyObject) -> Mapping[str, Any] | None:
    return (volume.get("spec") or {}).get("claimRef")


def claim_key(volume: ReadOnlyObject) -> ObjectKey | None:
    """The claim that the volume is kept for."""
    reference = claim_ref(volume)
    return ObjectKey(reference.get("namespace") or "", reference.get("name") or "") if reference is not None else None


def reference_to_claim(claim: ReadOnlyObject) -> Object:
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "apiVersion": "v1",
        "resourceVersion": resource_version_of(claim),
    }


def is_bound(claim: ReadOnlyObject) -> bool:
    """Whether the binder has finished with it."""
    return bool(volume_name(claim)) and BIND_COMPLETED in annotations_of(claim)


def is_kept_for(volume: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """Whether the volume refers to the claim; a reference without a uid means any claim of that name."""
    reference = claim_ref(volume)
    if reference is None or claim_key(volume) != key_of(claim):
        return False
    return reference.get("uid", "") in ("", uid_of(claim))


def offers_modes(volume: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    return set(access_modes(claim)) <= set(access_modes(volume))


def bound_to(volume: ReadOnlyObject, claim: ReadOnlyObject) -> Object:
    """The volume with a reference to the claim; unless somebody had kept it for the claim, marked as our doing."""
    changed: Object = {**volume, "spec": dict(volume["spec"])}
    reference = claim_ref(volume) or {}
    if claim_key(volume) != key_of(claim) or reference.get("uid") != uid_of(claim):
        changed["spec"]["claimRef"] = reference_to_claim(claim)
    if not is_kept_for(volume, claim):
        changed["metadata"] = with_annotations(volume, {BOUND_BY_CONTROLLER: "yes"})
    return changed


def with_annotations(obj: ReadOnlyObject, annotations: Mapping[str, str]) -> Object:
    """The object's metadata with these annotations."""
    return {**obj["metadata"], "annotations": {**annotations_of(obj), **annotations}}


def is_reachable(volume: ReadOnlyObject, node_labels: Labels) -> bool:
    """Whether a node with these labels can use the volume."""
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    return required is None or node_selector(required).matches("", node_labels)


def find_match(
    claim: ReadOnlyObject,
    volumes: Iterable[ReadOnlyObject],
    *,
    is_delayed: bool = False,
    node_labels: Labels | None = None,
    excluded: Collection[str] = (),
) -> Object | None:
    """The volume to take for a claim: the one kept for it, else the smallest that fits.

    Without a node, volumes with the fewest access modes come first, and a claim of a delayed class only gets what is
    kept for it. With the labels of a node, only what can be reached there.
    """
    fitting = [volume for volume in volumes if name_of(volume) not in excluded and _may_serve(volume, claim)]
    for volume in fitting:
        if is_kept_for(volume, claim):
            return dict(volume) if node_labels is None or is_reachable(volume, node_labels) else None
    if node_labels is None and is_delayed:
        return None
    selector = (claim.get("spec") or {}).get("selector")
    is_selected = from_label_selector(selector).matches if selector is not None else _anything
    free = [
        volume
        for volume in fitting
        if (volume.get("status") or {}).get("phase") == "Available"
        and class_of(volume) == class_of(claim)
        and is_selected(labels_of(volume))
        and (node_labels is None or is_reachable(volume, node_labels))
    ]
    if not free:
        return None
    best = min(free, key=_fewest_modes_first) if node_labels is None else min(free, key=_smallest_first)
    return dict(best)


def _fewest_modes_first(volume: ReadOnlyObject) -> tuple[int, Quantity, str]:
    return len(access_modes(volume)), capacity(volume), name_of(volume)


def _smallest_first(volume: ReadOnlyObject) -> tuple[Quantity, str]:
    return capacity(volume), name_of(volume)


def _anything(labels: Labels) -> bool:
    return True


def _may_serve(volume: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """Whether nothing that concerns the two alone speaks against it."""
    return (
        (claim_ref(volume) is None or is_kept_for(volume, claim))
        and not is_being_deleted(volume)
        and volume_mode(volume) == volume_mode(claim)
        and attributes_class(volume) == attributes_class(claim)
        and offers_modes(volume, claim)
        and requested(claim) <= capacity(volume)
    )


# -- claims and pods -------------------------------------------------------------------------------------------------


def ephemeral_claim_name(pod: ReadOnlyObject, volume: Mapping[str, Any]) -> str:
    """The claim that is made for an ephemeral volume of the pod."""
    return f"{name_of(pod)}-{volume['name']}"


def why_not_for_pod(pod: ReadOnlyObject, claim: ReadOnlyObject) -> str:
    """Says so where a claim of the right name was not made for this pod; "" where it was."""
    if namespace_of(pod) == namespace_of(claim) and is_controlled_by(claim, pod):
        return ""
    return f"PVC {key_of(claim)} was not created for pod {key_of(pod)} (pod is not owner)"


def claim_names(pod: ReadOnlyObject) -> list[str]:
    """The claims that a pod uses, those of ephemeral volumes included."""
    names = []
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(ephemeral_claim_name(pod, volume))
    return names


def index_pods(pods: Informer) -> Informer:
    """Makes `pods_of` work on this informer; every loop that needs it may call it."""
    pods.add_index(_BY_CLAIM, lambda pod: [f"{namespace_of(pod)}/{name}" for name in claim_names(pod)])
    return pods


def pods_of(pods: Informer, claim: ObjectKey) -> list[Object]:
    """The pods that name the claim."""
    return pods.by_index(_BY_CLAIM, str(claim))
