"""PersistentVolumes: storage itself, which keeps its source while size, class, policy and claim may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_immutable
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.pods.warnings import node_selector_term_warnings
from apiserver.resources.storage.persistent_volume_spec import check_persistent_volume_spec, default_volume
from apiserver.resources.volumes.persistent_sources import SOURCE_NAMES
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

Json = Mapping[str, Any]

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
OLD_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
# Sources that take mount options even from the old annotation.
MOUNTABLE = frozenset(
    {
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    }
)
OLD_SOURCES = {
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
# Labels of nodes whose old spelling in an affinity may be brought up to date.
NEW_LABELS = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}


class PersistentVolumeStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        fill_empty(obj.setdefault("status", {}), {"phase": "Pending"})
        spec = obj.setdefault("spec", {})
        fill_empty(spec, {"persistentVolumeReclaimPolicy": "Retain"})
        fill(spec, {"volumeMode": "Filesystem"})
        default_volume(spec)

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"].get("creationTimestamp")}

    def check(self, obj: Object, errors: Errors) -> None:
        check_persistent_volume_spec(obj["spec"], obj["metadata"].get("name", ""), "spec", errors)
        annotations = obj["metadata"].get("annotations") or NO_FIELDS
        if MOUNT_OPTIONS in annotations and not any(name in obj["spec"] for name in MOUNTABLE):
            reason = "may not specify mount options for this volume type"
            errors.append(field.forbidden(f"metadata.annotations.{MOUNT_OPTIONS}", reason))

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        """The spec is checked twice: upstream says its faults both as a volume's and as a change's."""
        self.check(new, errors)
        spec, old_spec = new["spec"], old["spec"]
        check_persistent_volume_spec(spec, new["metadata"].get("name", ""), "spec", errors)
        _check_same_source(spec, old_spec, errors)
        check_immutable(spec.get("volumeMode"), old_spec.get("volumeMode"), "volumeMode", errors)
        if "nodeAffinity" in old_spec:
            _check_same_affinity(spec.get("nodeAffinity"), old_spec["nodeAffinity"], errors)
        if "volumeAttributesClassName" in old_spec and "volumeAttributesClassName" not in spec:
            reason = "update from non-nil value to nil is forbidden"
            errors.append(field.forbidden("spec.volumeAttributesClassName", reason))

    def stamp_update(self, new: Object, old: Object, now: datetime) -> None:
        """The time of a phase is the server's, unless the writer of the status brings a new one."""
        name, status, before = "lastPhaseTransitionTime", new.get("status") or {}, old.get("status") or NO_FIELDS
        if status.get("phase") == before.get("phase"):
            if before.get(name):
                status.setdefault(name, before[name])
        elif status.get(name) in (None, before.get(name)):
            status[name] = format_time(now)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_warnings(obj["spec"], obj["metadata"].get("annotations") or NO_FIELDS))


def _check_same_source(spec: Json, old_spec: Json, errors: Errors) -> None:
    source, old_source = _source(spec), _source(old_spec)
    secret = "controllerExpandSecretRef"
    if "csi" in source and "csi" in old_source and secret not in old_source["csi"]:
        # A secret for expansion may come later.
        source["csi"] = {k: v for k, v in source["csi"].items() if k != secret}
    if not same(source, old_source):
        reason = "spec.persistentvolumesource is immutable after creation"
        errors.append(field.forbidden("spec.persistentvolumesource", reason))


def _source(spec: Json) -> Object:
    return {name: spec[name] for name in SOURCE_NAMES if name in spec}


def _check_same_affinity(affinity: Json | None, old: Json, errors: Errors) -> None:
    if not same(affinity, old) and not same(affinity, _with_new_labels(old)):
        reason = f"{validation.IMMUTABLE}, except for updating from beta label to GA"
        errors.append(field.invalid("nodeAffinity", as_internal("VolumeNodeAffinity", affinity), reason))


def _with_new_labels(affinity: Json) -> Object:
    """The affinity with every label under its newest name."""
    terms = []
    for term in (affinity.get("required") or NO_FIELDS).get("nodeSelectorTerms") or NO_ITEMS:
        expressions = term.get("matchExpressions") or NO_ITEMS
        renamed = [{**e, "key": NEW_LABELS.get(e.get("key", ""), e.get("key", ""))} for e in expressions]
        terms.append({**term, "matchExpressions": renamed} if renamed else term)
    return {"required": {"nodeSelectorTerms": terms}}


def _warnings(spec: Json, annotations: Mapping[str, str]) -> Iterator[str]:
    for key, text in OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield f"spec.persistentVolumeReclaimPolicy: {RECYCLE}"
    required = (spec.get("nodeAffinity") or NO_FIELDS).get("required") or NO_FIELDS
    for i, term in enumerate(required.get("nodeSelectorTerms") or NO_ITEMS):
        at = f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]"
        yield from node_selector_term_warnings(term, at, values=False)
    for name, text in OLD_SOURCES.items():
        if name in spec:
            yield f"spec.{text}"


PERSISTENT_VOLUME = PersistentVolumeStrategy()
