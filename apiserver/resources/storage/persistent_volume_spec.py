"""What a PersistentVolume must say, on its own or inline in a VolumeAttachment."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_dns_subdomain, check_one_of, go_map
from apiserver.resources.filling import fill
from apiserver.resources.pods.defaults import SOURCE_DEFAULTS
from apiserver.resources.pods.node_selectors import check_node_selector
from apiserver.resources.resource_lists import check_positive_amount, round_up
from apiserver.resources.volumes.claim_spec import VOLUME_MODES, check_access_modes
from apiserver.resources.volumes.persistent_sources import SOURCE_NAMES, check_persistent_volume_source
from kubeloop.apimachinery import field, quantity
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
NOT_INLINE = "may not be specified in the context of inline volumes"


def default_volume(spec: Object) -> None:
    """What a volume gets wherever it is described: amounts rounded up, and the defaults of its source."""
    round_up(spec.get("capacity") or {})
    for name in SOURCE_NAMES:
        if name in spec and name in SOURCE_DEFAULTS:
            fill(spec[name], SOURCE_DEFAULTS[name])


def check_persistent_volume_spec(spec: Json, name: str, path: str, errors: Errors) -> None:
    _check_modes(spec, path, errors)
    _check_capacity(spec.get("capacity") or NO_FIELDS, f"{path}.capacity", errors)
    if policy := spec.get("persistentVolumeReclaimPolicy"):
        check_one_of(policy, RECLAIM_POLICIES, f"{path}.persistentVolumeReclaimPolicy", errors)
    if (affinity := spec.get("nodeAffinity")) is not None:
        _check_node_affinity(affinity, f"{path}.nodeAffinity", errors)
    check_persistent_volume_source(spec, name, path, errors)
    _check_not_recycling_root(spec, path, errors)
    if class_name := spec.get("storageClassName"):
        check_dns_subdomain(class_name, f"{path}.storageClassName", errors)
    if "volumeMode" in spec:
        check_one_of(spec["volumeMode"], VOLUME_MODES, f"{path}.volumeMode", errors)
    if "volumeAttributesClassName" in spec:
        _check_attributes_class(spec, path, errors)


def check_inline_volume_spec(spec: Json, path: str, errors: Errors) -> None:
    """Inline volumes are CSI ones that nobody claims: little else may be said about them."""
    for name in ("claimRef", "capacity"):
        if spec.get(name):
            errors.append(field.forbidden(f"{path}.{name}", NOT_INLINE))
    if "csi" not in spec:
        errors.append(field.required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    _check_modes(spec, path, errors)
    if spec.get("persistentVolumeReclaimPolicy", "Retain") != "Retain":
        reason = "may only be Retain in the context of inline volumes"
        errors.append(field.forbidden(f"{path}.persistentVolumeReclaimPolicy", reason))
    if "nodeAffinity" in spec:
        errors.append(field.forbidden(f"{path}.nodeAffinity", NOT_INLINE))
    check_persistent_volume_source(spec, "", path, errors)
    _check_not_recycling_root(spec, path, errors)
    if spec.get("storageClassName"):
        errors.append(field.forbidden(f"{path}.storageClassName", NOT_INLINE))
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        reason = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(field.forbidden(f"{path}.volumeMode", reason))


def _check_modes(spec: Json, path: str, errors: Errors) -> None:
    modes = spec.get("accessModes") or NO_ITEMS
    if not modes:
        errors.append(field.required(f"{path}.accessModes"))
    check_access_modes(modes, f"{path}.accessModes", errors)


def _check_capacity(capacity: Json, path: str, errors: Errors) -> None:
    if not capacity:
        errors.append(field.required(path))
    if list(capacity) != ["storage"]:
        errors.append(field.not_supported(path, go_map(capacity) or None, ("storage",)))
    for name, text in capacity.items():
        check_basic_amount(text, f"{path}[{name}]", errors)
        check_positive_amount(text, f"{path}[{name}]", errors)


def check_basic_amount(text: str, path: str, errors: Errors) -> None:
    value = quantity.value(text)
    if value < 0:
        errors.append(field.invalid(path, value, "must be a valid resource quantity"))


def _check_node_affinity(affinity: Json, path: str, errors: Errors) -> None:
    if "required" in affinity:
        check_node_selector(affinity["required"], f"{path}.required", errors)
    else:
        errors.append(field.required(f"{path}.required", "must specify required node constraints"))


def _check_not_recycling_root(spec: Json, path: str, errors: Errors) -> None:
    host_path = (spec.get("hostPath") or NO_FIELDS).get("path", "")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle" and posixpath.normpath(host_path) in ("/", "//"):
        reason = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(field.forbidden(f"{path}.persistentVolumeReclaimPolicy", reason))


def _check_attributes_class(spec: Json, path: str, errors: Errors) -> None:
    name, at = spec["volumeAttributesClassName"], f"{path}.volumeAttributesClassName"
    if name:
        check_dns_subdomain(name, at, errors)
    else:
        errors.append(field.required(at, "an empty string is disallowed"))
    if "csi" not in spec:
        reason = "has to be specified when using volumeAttributesClassName"
        errors.append(field.required(f"{path}.csi", reason))
