"""The ConfigMaps and Secrets that a container's environment and mounted volumes are made of."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from kubelet_sim.environment import mounted_at
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import CONFIG_MAPS, SECRETS
from kubeloop.client.api import Api

Json = Mapping[str, Any]
Source = tuple[str, str]  # ConfigMap or Secret, and its name

WORDS = (("configMap", "ConfigMap"), ("secret", "Secret"))


def used_by(pod: ReadOnlyObject, container: Json) -> Iterator[Source]:
    """Some perhaps more than once."""
    for source in container.get("envFrom") or ():
        yield from (source_of(source[f"{word}Ref"], kind) for word, kind in WORDS if f"{word}Ref" in source)
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield from (source_of(source[f"{word}KeyRef"], kind) for word, kind in WORDS if f"{word}KeyRef" in source)
    for source in mounted_parts(pod, container):
        yield from (source_of(source[word], kind) for word, kind in WORDS if word in source)


def mounted_parts(pod: ReadOnlyObject, container: Json) -> Iterator[Json]:
    """The volumes that the container sees, and what they are put together from."""
    mounted = {volume for volume, _, _ in mounted_at(container)}
    for volume in pod["spec"].get("volumes") or ():
        if volume["name"] in mounted:
            yield from parts_of(volume)


def parts_of(volume: Json) -> tuple[Json, ...]:
    """The volume, or what is projected into it."""
    return (volume, *((volume.get("projected") or {}).get("sources") or ()))


def source_of(reference: Json, kind: str) -> Source:
    return kind, reference.get("name") or reference.get("secretName") or ""


async def read(api: Api, namespace: str, source: Source) -> dict[str, bytes]:
    """By key; nothing of what is not there. Raises ApiError."""
    kind, name = source
    try:
        obj = await api.get(CONFIG_MAPS if kind == "ConfigMap" else SECRETS, name, namespace)
    except NotFound:
        return {}
    found = obj.get("data") or {}
    if kind == "Secret":
        return {key: base64.b64decode(text) for key, text in found.items()}
    binary = {key: base64.b64decode(text) for key, text in (obj.get("binaryData") or {}).items()}
    return {key: text.encode() for key, text in found.items()} | binary


def as_text(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: content.decode("utf-8", "replace") for key, content in data.items()}
