"""PersistentVolumeClaims: what a pod's owner asks for; once bound, only the amount and the attributes may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    Errors,
    check_immutable,
    check_not_negative,
    check_with,
)
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill_empty
from apiserver.resources.internal_types import internal_diff
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.pods.defaults import default_claim_spec
from apiserver.resources.resource_lists import round_up
from apiserver.resources.resource_names import is_native
from apiserver.resources.storage.persistent_volume_spec import check_basic_amount
from apiserver.resources.volumes.claim_spec import check_claim_spec
from apiserver.resources.volumes.claim_warnings import claim_spec_warnings
from kubeloop.apimachinery import field, quantity, validation
from kubeloop.apimachinery.meta import Object, deep_copy

Json = Mapping[str, Any]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
CLASS_ANNOTATION_OLD = 'deprecated since v1.8; use "storageClassName" attribute instead'
SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)


class PersistentVolumeClaimStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        status = obj.setdefault("status", {})
        fill_empty(status, {"phase": "Pending"})
        for name in ("capacity", "allocatedResources"):
            round_up(status.get(name) or {})
        default_claim_spec(obj.setdefault("spec", {}))

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}
        _agree_on_source(obj["spec"], NO_FIELDS)

    def check(self, obj: Object, errors: Errors) -> None:
        check_claim_spec(obj["spec"], "spec", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")
        _agree_on_source(new["spec"], old["spec"])

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        _check_class_annotation(new, old, errors)
        _check_same_spec(new, old, errors)
        _check_not_shrinking(new, old, errors)
        check_immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode", errors)
        _check_attributes_kept(new, old, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        for name, text in (status.get("capacity") or NO_FIELDS).items():
            check_basic_amount(text, f"status.capacity[{name}]", errors)
        for name, state in (status.get("allocatedResourceStatuses") or NO_FIELDS).items():
            _check_allocated_name(name, "status.allocatedResourceStatuses", errors)
            if state not in RESIZE_STATES:
                errors.append(field.not_supported("status.allocatedResourceStatuses", name, sorted(RESIZE_STATES)))
        for name, text in (status.get("allocatedResources") or NO_FIELDS).items():
            _check_allocated(name, text, "status.allocatedResources", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        warnings = []
        if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or NO_FIELDS):
            warnings.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {CLASS_ANNOTATION_OLD}")
        return [*warnings, *claim_spec_warnings(obj["spec"], "spec")]


def _agree_on_source(spec: Object, old_spec: Json) -> None:
    """`dataSource` and `dataSourceRef` say the same; a source that cannot fill a volume is dropped without a word."""
    if (spec.get("dataSourceRef") or NO_FIELDS).get("namespace") and "dataSourceRef" not in old_spec:
        del spec["dataSourceRef"]  # across namespaces: behind a feature gate that is off
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    had_source = "dataSource" in old_spec or "dataSourceRef" in old_spec
    if reference is None and not had_source and not _is_claim_or_snapshot(source or NO_FIELDS):
        source = spec.pop("dataSource", None) and None
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {k: v for k, v in reference.items() if k != "namespace"}


def _is_claim_or_snapshot(source: Json) -> bool:
    named = (source.get("apiGroup") or "", source.get("kind"))
    return named in (("", "PersistentVolumeClaim"), (SNAPSHOT_GROUP, "VolumeSnapshot"))


def _check_class_annotation(new: Object, old: Object, errors: Errors) -> None:
    """The old way to name a class stays as it is, unless the new way takes its place."""
    after, before = _class_annotation(new), _class_annotation(old)
    if after != before and not _moves_class_to_field(new, old):
        at = f"metadata.annotations.{CLASS_ANNOTATION}"
        errors.append(field.invalid(at, after or "", validation.IMMUTABLE))


def _class_annotation(obj: Json) -> str | None:
    return (obj["metadata"].get("annotations") or NO_FIELDS).get(CLASS_ANNOTATION)


def _moves_class_to_field(new: Object, old: Object) -> bool:
    named = _class_annotation(old)
    return (
        named is not None
        and "storageClassName" not in old["spec"]
        and new["spec"].get("storageClassName") == named
        and _class_annotation(new) in (None, named)
    )


def _check_same_spec(new: Object, old: Object, errors: Errors) -> None:
    """Nothing changes but what may be set once, and what a bound claim may ask for anew."""
    spec, before = deep_copy(new["spec"]), deep_copy(old["spec"])
    if not before.get("volumeName"):
        carry_over(before, spec, "volumeName")
    if "storageClassName" not in before and _class_annotation(old) in (None, spec.get("storageClassName")):
        carry_over(spec, before, "storageClassName")
    if (new.get("status") or NO_FIELDS).get("phase") == "Bound":
        if requests := spec["resources"].get("requests"):
            carry_over(requests, before["resources"].get("requests") or {}, "storage")
        carry_over(spec, before, "volumeAttributesClassName")
    if not same(spec, before):
        reason = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        changes = internal_diff("PersistentVolumeClaimSpec", before, spec)
        errors.append(field.forbidden("spec", f"{reason}\n{changes}"))


def _check_not_shrinking(new: Object, old: Object, errors: Errors) -> None:
    """Asking for less is allowed while a growth is under way, though never below what there is."""
    size, before = _storage(new["spec"]["resources"], "requests"), _storage(old["spec"]["resources"], "requests")
    if size < before and size <= _storage(old.get("status") or NO_FIELDS, "capacity"):
        errors.append(field.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))


def _storage(holder: Json, name: str) -> quantity.Quantity:
    return quantity.parse((holder.get(name) or NO_FIELDS).get("storage", "0"))


def _check_attributes_kept(new: Object, old: Object, errors: Errors) -> None:
    name, at = "volumeAttributesClassName", "spec.volumeAttributesClassName"
    wanted = new["spec"].get(name)
    if wanted == old["spec"].get(name) or "currentVolumeAttributesClassName" not in (old.get("status") or NO_FIELDS):
        return
    if not wanted:
        what = "nil" if wanted is None else "empty string"
        reason = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        errors.append(field.forbidden(at, reason))


def _check_allocated_name(name: str, path: str, errors: Errors) -> bool:
    """Whether it may be allocated: storage, or something of another domain."""
    if reasons := validation.qualified_name_errors(name):
        check_with(reasons, name, path, errors)
        return False
    if is_native(name) and name != "storage":
        errors.append(field.not_supported(path, name, ("storage",)))
        return False
    return True


def _check_allocated(name: str, text: str, path: str, errors: Errors) -> None:
    at, before = f"{path}[{name}]", len(errors)
    if not _check_allocated_name(name, path, errors):
        return
    check_basic_amount(text, at, errors)
    if len(errors) == before and quantity.parse(text).sign < 0:
        check_not_negative(quantity.value(text), at, errors)


PERSISTENT_VOLUME_CLAIM = PersistentVolumeClaimStrategy()
