"""VolumeAttachments: that a volume should be at a node, and in their status whether it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors, check_dns_subdomain
from apiserver.resources.comparison import same
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.storage.persistent_volume_spec import check_inline_volume_spec, default_volume
from apiserver.resources.volumes.sources import check_driver_name
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_METADATA_BYTES = 256 * 1024
MAX_MESSAGE_BYTES = 1024
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


class VolumeAttachmentStrategy(PlainKind):
    rechecks_change, rechecks_object = False, True
    allow_unconditional_update = False
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        source = (obj.get("spec") or {}).get("source") or {}
        if (inline := source.get("inlineVolumeSpec")) is not None:
            default_volume(inline)

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"attached": False}

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj.get("spec") or NO_FIELDS
        source = spec.get("source") or NO_FIELDS
        check_driver_name(spec.get("attacher", ""), "spec.attacher", errors)
        _check_source(source, "spec.source", errors)
        check_dns_subdomain(spec.get("nodeName", ""), "spec.nodeName", errors)
        _check_status(obj.get("status") or NO_FIELDS, "status", errors)
        if (volume := source.get("persistentVolumeName")) is not None:
            check_dns_subdomain(volume, "spec.source.persistentVolumeName", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        spec = new.get("spec") or NO_FIELDS
        if not same(spec, old.get("spec") or NO_FIELDS):
            errors.append(field.invalid("spec", as_internal("VolumeAttachmentSpec", spec), validation.IMMUTABLE))

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        carry_over(new["metadata"], old["metadata"], "labels", "annotations", "finalizers", "ownerReferences")

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check_update(new, old, errors)


def _check_source(source: Json, path: str, errors: Errors) -> None:
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if volume is None and inline is None:
        errors.append(field.required(path, ONE_SOURCE))
    elif volume is not None and inline is not None:
        errors.append(field.forbidden(path, ONE_SOURCE))
    elif inline is not None:
        check_inline_volume_spec(inline, f"{path}.inlineVolumeSpec", errors)
    elif not volume:
        errors.append(field.required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))


def _check_status(status: Json, path: str, errors: Errors) -> None:
    metadata = status.get("attachmentMetadata") or NO_FIELDS
    if sum(len(k.encode()) + len(v.encode()) for k, v in metadata.items()) > MAX_METADATA_BYTES:
        errors.append(field.too_long(f"{path}.attachmentMetadata", MAX_METADATA_BYTES))
    for name in ("attachError", "detachError"):
        error, at = status.get(name) or NO_FIELDS, f"{path}.{name}"
        if len(error.get("message", "").encode()) > MAX_MESSAGE_BYTES:
            # Upstream names the bound of the metadata here.
            errors.append(field.too_long(f"{at}.message", MAX_METADATA_BYTES))
        if (code := error.get("errorCode", 0)) < 0:
            errors.append(field.invalid(f"{at}.errorCode", code, "must be between 0 and 2147483647, inclusive"))


VOLUME_ATTACHMENT = VolumeAttachmentStrategy()
