"""What `kubectl get` shows of volumes, claims, storage classes and CSI objects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, PLAIN_COLUMNS, UNSET, count, field, joined
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, is_being_deleted, name_of

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
# Shown in this order, each once.
_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access_modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _phase(obj: ReadOnlyObject, now: datetime) -> str:
    return "Terminating" if is_being_deleted(obj) else (obj.get("status") or {}).get("phase", "")


def _class(obj: ReadOnlyObject, now: datetime) -> str:
    """The storage class, which the old annotation overrides."""
    annotated = annotations_of(obj).get(_CLASS_ANNOTATION)
    return (obj.get("spec") or {}).get("storageClassName") or "" if annotated is None else annotated


def _claim(volume: ReadOnlyObject, now: datetime) -> str:
    reference = (volume.get("spec") or {}).get("claimRef")
    return "" if reference is None else f"{reference.get('namespace', '')}/{reference.get('name', '')}"


def _claim_capacity(claim: ReadOnlyObject, now: datetime) -> str:
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return ((claim.get("status") or {}).get("capacity") or {}).get("storage", "0")


def _claim_access_modes(claim: ReadOnlyObject, now: datetime) -> str:
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return _access_modes((claim.get("status") or {}).get("accessModes"))


def _class_name(storage_class: ReadOnlyObject, now: datetime) -> str:
    annotations = annotations_of(storage_class)
    is_default = any(annotations.get(annotation) == "true" for annotation in _DEFAULT_CLASS_ANNOTATIONS)
    return f"{name_of(storage_class)} (default)" if is_default else name_of(storage_class)


def _token_requests(driver: ReadOnlyObject, now: datetime) -> str:
    requests = (driver.get("spec") or {}).get("tokenRequests")
    return UNSET if requests is None else ",".join(request.get("audience", "") for request in requests)


_ATTRIBUTES_CLASS = Column("VolumeAttributesClass", "string", field("spec", "volumeAttributesClassName", default=UNSET))
_VOLUME_MODE = Column("VolumeMode", "string", field("spec", "volumeMode", default=UNSET), priority=1)

PERSISTENT_VOLUME_COLUMNS = (
    NAME,
    Column("Capacity", "string", field("spec", "capacity", "storage", default="0")),
    Column("Access Modes", "string", lambda pv, now: _access_modes((pv.get("spec") or {}).get("accessModes"))),
    Column("Reclaim Policy", "string", field("spec", "persistentVolumeReclaimPolicy")),
    Column("Status", "string", _phase),
    Column("Claim", "string", _claim),
    Column("StorageClass", "string", _class),
    _ATTRIBUTES_CLASS,
    Column("Reason", "string", field("status", "reason")),
    AGE,
    _VOLUME_MODE,
)

PERSISTENT_VOLUME_CLAIM_COLUMNS = (
    NAME,
    Column("Status", "string", _phase),
    Column("Volume", "string", field("spec", "volumeName")),
    Column("Capacity", "string", _claim_capacity),
    Column("Access Modes", "string", _claim_access_modes),
    Column("StorageClass", "string", _class),
    _ATTRIBUTES_CLASS,
    AGE,
    _VOLUME_MODE,
)

STORAGE_CLASS_COLUMNS = (
    Column("Name", "string", _class_name, format="name"),
    Column("Provisioner", "string", field("provisioner")),
    Column("ReclaimPolicy", "string", field("reclaimPolicy", default="Delete")),
    Column("VolumeBindingMode", "string", field("volumeBindingMode", default="Immediate")),
    Column("AllowVolumeExpansion", "string", field("allowVolumeExpansion", default=False)),
    AGE,
)

VOLUME_ATTRIBUTES_CLASS_COLUMNS = (
    NAME,
    Column("DriverName", "string", field("driverName")),
    AGE,
)

VOLUME_ATTACHMENT_COLUMNS = (
    NAME,
    Column("Attacher", "string", field("spec", "attacher"), format="name"),
    Column("PV", "string", field("spec", "source", "persistentVolumeName")),
    Column("Node", "string", field("spec", "nodeName")),
    Column("Attached", "boolean", field("status", "attached", default=False)),
    AGE,
)

CSI_DRIVER_COLUMNS = (
    NAME,
    Column("AttachRequired", "boolean", field("spec", "attachRequired", default=True)),
    Column("PodInfoOnMount", "boolean", field("spec", "podInfoOnMount", default=False)),
    Column("StorageCapacity", "boolean", field("spec", "storageCapacity", default=False)),
    Column("TokenRequests", "string", _token_requests),
    Column("RequiresRepublish", "boolean", field("spec", "requiresRepublish", default=False)),
    Column("Modes", "string", joined("spec", "volumeLifecycleModes", default=NONE)),
    AGE,
)

CSI_NODE_COLUMNS = (
    NAME,
    Column("Drivers", "integer", count("spec", "drivers")),
    AGE,
)

CSI_STORAGE_CAPACITY_COLUMNS = PLAIN_COLUMNS
