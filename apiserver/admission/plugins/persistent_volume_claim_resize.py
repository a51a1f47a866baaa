"""PersistentVolumeClaimResize: only bound claims of a class that allows expansion may ask for more."""

from __future__ import annotations

from apiserver.admission.chain import UPDATE, Attributes, Plugin
from apiserver.admission.plugins.default_classes import STORAGE_CLASSES
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of
from kubeloop.apimachinery.quantity import ZERO, Quantity, parse

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class PersistentVolumeClaimResize(Plugin):
    operations = frozenset({UPDATE})
    resources = frozenset({"persistentvolumeclaims"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, attributes: Attributes) -> None:
        claim, old = attributes.object, attributes.old_object
        if claim is None or old is None or attributes.subresource or not _size(old) < _size(claim):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden("Only bound persistent volume claims can be expanded")
        if not self._may_grow(claim, old):
            raise attributes.forbidden(
                "only dynamically provisioned pvc can be resized and "
                "the storageclass that provisions the pvc must support resize"
            )

    def _may_grow(self, claim: ReadOnlyObject, old: ReadOnlyObject) -> bool:
        name = _class_of(claim)
        if not name or name != _class_of(old):
            return False
        storage_class = self._reader.get(STORAGE_CLASSES, "", name)
        return storage_class is not None and bool(storage_class.get("allowVolumeExpansion"))


def _size(claim: ReadOnlyObject) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return parse(str(requests["storage"])) if "storage" in requests else ZERO


def _class_of(claim: ReadOnlyObject) -> str:
    annotated = annotations_of(claim).get(_CLASS_ANNOTATION)
    return ((claim.get("spec") or {}).get("storageClassName") or "") if annotated is None else annotated
