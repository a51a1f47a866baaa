"""AlwaysPullImages: every container pulls its image anew, so that only those who may pull it get at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from kubeloop.apimachinery.errors import ApiError, Forbidden
from kubeloop.apimachinery.field import not_supported
from kubeloop.apimachinery.meta import ReadOnlyObject

_ALWAYS = "Always"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class AlwaysPullImages(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    async def admit(self, attributes: Attributes) -> None:
        if attributes.object is None or not _brings_images(attributes):
            return
        for _, field, holder in _images(attributes.object):
            holder[field] = _ALWAYS

    async def validate(self, attributes: Attributes) -> None:
        """Once more on what other plugins made of the pod."""
        if attributes.object is None or not _brings_images(attributes):
            return
        refused: list[ApiError] = [
            attributes.forbidden(str(not_supported(path, holder.get(field, ""), [_ALWAYS])))
            for path, field, holder in _images(attributes.object)
            if holder.get(field) != _ALWAYS
        ]
        if len(refused) == 1:
            raise refused[0]
        if refused:
            raise Forbidden(f"[{', '.join(dict.fromkeys(error.message for error in refused))}]")


def _brings_images(attributes: Attributes) -> bool:
    """Whether the pod is new, or has an image that it had not."""
    if attributes.subresource:
        return False
    if attributes.operation == CREATE:
        return True
    return not _image_names(attributes.object or {}) <= _image_names(attributes.old_object or {})


def _images(pod: ReadOnlyObject) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where a pod says how to pull: the field's path and name, and what it stands in."""
    spec = pod.get("spec") or {}
    for kind in _CONTAINERS:
        for i, container in enumerate(spec.get(kind) or ()):
            yield f"spec.{kind}[{i}].imagePullPolicy", "imagePullPolicy", container
    for i, volume in enumerate(spec.get("volumes") or ()):
        if "image" in volume:
            yield f"spec.volumes[{i}].image.pullPolicy", "pullPolicy", volume["image"]


def _image_names(pod: ReadOnlyObject) -> set[str]:
    spec = pod.get("spec") or {}
    return {container.get("image", "") for kind in _CONTAINERS for container in spec.get(kind) or ()}
