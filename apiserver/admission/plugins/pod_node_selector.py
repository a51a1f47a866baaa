"""PodNodeSelector: the pods of a namespace go to the nodes that its annotation selects."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.admission.surroundings import namespace_annotation
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import ApiError

_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if pod is None or attributes.subresource:
            return
        wanted = self._selector_of(attributes.namespace)
        spec = pod.setdefault("spec", {})
        own = spec.get("nodeSelector") or {}
        if any(own.get(key, value) != value for key, value in wanted.items()):
            raise attributes.forbidden(_CONFLICT)
        if wanted:
            spec["nodeSelector"] = {**wanted, **own}

    async def validate(self, attributes: Attributes) -> None:
        """Once more on what other plugins made of the pod."""
        if attributes.object is None or attributes.subresource:
            return
        own = (attributes.object.get("spec") or {}).get("nodeSelector") or {}
        wanted = self._selector_of(attributes.namespace)
        if any(own.get(key, value) != value for key, value in wanted.items()):
            raise attributes.forbidden(_CONFLICT)

    def _selector_of(self, name: str) -> dict[str, str]:
        return _labels(namespace_annotation(name, _ANNOTATION, self._reader))


def _labels(text: str) -> dict[str, str]:
    """`a=b,c=d`."""
    labels = {}
    for part in text.split(",") if text else ():
        key, sign, value = part.partition("=")
        if not sign or "=" in value:
            raise ApiError(f"invalid selector: [{' '.join(part.split('='))}]", code=500)
        labels[key.strip()] = value.strip()
    return labels
