"""StorageObjectInUseProtection: volumes, claims and attribute classes are born with a finalizer that guards their use.

The protection loops take it away when nothing uses the object any more.
"""

from __future__ import annotations

from apiserver.admission.chain import CREATE, Attributes, Plugin

_FINALIZERS = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset(_FINALIZERS)

    async def admit(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        finalizer = _FINALIZERS[str(attributes.resource)]
        metadata = attributes.object.setdefault("metadata", {})
        finalizers = metadata.get("finalizers") or []
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]
