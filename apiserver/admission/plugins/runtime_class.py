"""RuntimeClass: a pod takes on the overhead, the node selector and the tolerations of its runtime class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_resources import quantities
from kubeloop.apimachinery.tolerations import merged

RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        spec = attributes.object.setdefault("spec", {})
        runtime_class = self._class_of(attributes, spec)
        if runtime_class is None:
            return
        if runtime_class.get("overhead") is not None:
            _set_overhead(attributes, spec, runtime_class["overhead"].get("podFixed") or {})
        if runtime_class.get("scheduling") is not None:
            _set_scheduling(attributes, spec, runtime_class["scheduling"])

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        spec = attributes.object.get("spec") or {}
        runtime_class = self._class_of(attributes, spec)
        overhead = (runtime_class or {}).get("overhead")
        if overhead is not None:
            if not _is_equal(spec.get("overhead"), overhead.get("podFixed")):
                raise attributes.forbidden(_MISMATCH)
        elif spec.get("overhead") is not None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise attributes.forbidden(why)

    def _class_of(self, attributes: Attributes, spec: Mapping[str, Any]) -> Object | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        runtime_class = self._reader.get(RUNTIME_CLASSES, "", name)
        if runtime_class is None:
            raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        return runtime_class


def _set_overhead(attributes: Attributes, spec: Object, overhead: Mapping[str, str]) -> None:
    if spec.get("overhead") and not _is_equal(spec["overhead"], overhead):
        raise attributes.forbidden(_MISMATCH)
    if overhead:
        spec["overhead"] = dict(overhead)


def _set_scheduling(attributes: Attributes, spec: Object, scheduling: Mapping[str, Any]) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise attributes.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merged([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())])
    if tolerations:
        spec["tolerations"] = tolerations


def _is_equal(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> bool:
    return quantities(left) == quantities(right)
