"""DefaultStorageClass and DefaultIngressClass: who names no class gets the one annotated as the default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object, annotations_of, metadata, name_of

STORAGE_CLASSES = "storageclasses.storage.k8s.io"
INGRESS_CLASSES = "ingressclasses.networking.k8s.io"

_DEFAULT_STORAGE_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS_CLASS = ("ingressclass.kubernetes.io/is-default-class",)
_STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_INGRESS_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


class DefaultStorageClass(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"persistentvolumeclaims"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        claim = attributes.object
        if claim is None or attributes.subresource:
            return
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None or _STORAGE_CLASS_ANNOTATION in annotations_of(claim):
            return
        default = default_class(self._reader.list(STORAGE_CLASSES), _DEFAULT_STORAGE_CLASS)
        if default is not None:
            spec["storageClassName"] = name_of(default)


class DefaultIngressClass(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"ingresses.networking.k8s.io"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        ingress = attributes.object
        if ingress is None or attributes.subresource:
            return
        spec = ingress.setdefault("spec", {})
        if spec.get("ingressClassName") is not None or _INGRESS_CLASS_ANNOTATION in annotations_of(ingress):
            return
        default = default_class(self._reader.list(INGRESS_CLASSES), _DEFAULT_INGRESS_CLASS)
        if default is not None:
            spec["ingressClassName"] = name_of(default)


def default_class(classes: Iterable[Object], annotations: Sequence[str]) -> Object | None:
    """The class annotated as the default: the newest where there are several, then the first by name."""
    marked = [one for one in classes if any(annotations_of(one).get(key) == "true" for key in annotations)]
    marked.sort(key=name_of)
    return max(marked, key=lambda one: metadata(one).get("creationTimestamp", ""), default=None)
