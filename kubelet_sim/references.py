"""What a pod refers to: config maps and secrets for its environment and its volumes, and claims for devices.

A kubelet starts a container only when they are there; a claim has to be kept for the pod (claimed_devices). Of config
maps and secrets what is found is believed for a while, so that a hundred pods of one template cost one request; what is
missing is looked for again at every try. The root certificate that every namespace is given is taken for granted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubelet_sim.claimed_devices import device_error
from kubelet_sim.environment import sub_path_error
from kubelet_sim.security import root_error
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ReadOnlyObject, namespace_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, SECRETS, Resource
from kubeloop.client.api import Api

_BELIEVED_SECONDS = 30.0
_MAX_BELIEVED = 1000  # the least recently found is forgotten, and asked for again when it is needed
_ROOT_CERTIFICATE = "kube-root-ca.crt"


@dataclass(frozen=True, slots=True)
class Reference:
    resource: Resource
    name: str
    keys: tuple[str, ...] = ()
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Problems:
    """What keeps a pod from starting, in a kubelet's words, and which of its secrets for registries are missing."""

    mount_errors: Sequence[str] = ()
    device_error: str = ""
    config_errors: Mapping[str, str] = field(default_factory=dict)  # container name -> message
    pull_secrets: Sequence[str] = ()


Describe = Callable[[Reference, str, str], str]  # (reference, namespace, missing key) -> message


class References:
    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._found: OrderedDict[tuple[str, str, str], tuple[float, frozenset[str]]] = OrderedDict()

    async def problems(self, pod: ReadOnlyObject) -> Problems:
        return Problems(
            await self._mount_errors(pod),
            await device_error(self._api, pod),
            await self._config_errors(pod),
            await self._missing_pull_secrets(pod),
        )

    async def _mount_errors(self, pod: ReadOnlyObject) -> Sequence[str]:
        """The first of each volume."""
        errors: dict[str, str] = {}
        for volume in pod["spec"].get("volumes") or ():
            for reference in _of_volume(volume):
                error = await self._error(reference, namespace_of(pod), _key_missing_in_volume)
                if error:
                    name = volume["name"]
                    errors.setdefault(name, f'MountVolume.SetUp failed for volume "{name}" : {error}')
        return tuple(errors.values())

    async def _missing_pull_secrets(self, pod: ReadOnlyObject) -> Sequence[str]:
        named = [one["name"] for one in pod["spec"].get("imagePullSecrets") or () if one.get("name")]
        return [name for name in named if await self._keys(Reference(SECRETS, name), namespace_of(pod)) is None]

    async def _config_errors(self, pod: ReadOnlyObject) -> Mapping[str, str]:
        """The first of each container."""
        errors: dict[str, str] = {}
        for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
            for reference in _of_container(container):
                error = await self._error(reference, namespace_of(pod), _key_missing_in_environment)
                if error:
                    errors.setdefault(container["name"], error)
            for error in filter(None, (sub_path_error(container), root_error(pod, container))):
                errors.setdefault(container["name"], error)
        return errors

    async def _error(self, reference: Reference, namespace: str, describe_missing_key: Describe) -> str:
        if reference.is_optional:
            return ""
        keys = await self._keys(reference, namespace)
        if keys is None:
            return f'{reference.resource.kind.lower()} "{reference.name}" not found'
        missing = next((key for key in reference.keys if key not in keys), None)
        return describe_missing_key(reference, namespace, missing) if missing is not None else ""

    async def _keys(self, reference: Reference, namespace: str) -> frozenset[str] | None:
        """The keys there are; None where the object is not."""
        address = (reference.resource.plural, namespace, reference.name)
        now = self._clock.monotonic()
        if address in self._found:
            seconds, keys = self._found[address]
            if now - seconds < _BELIEVED_SECONDS and keys.issuperset(reference.keys):
                return keys
        try:
            obj = await self._api.get(reference.resource, reference.name, namespace)
        except NotFound:
            self._found.pop(address, None)
            return None
        keys = frozenset(obj.get("data") or ()) | frozenset(obj.get("binaryData") or ())
        self._found[address] = (now, keys)
        self._found.move_to_end(address)
        if len(self._found) > _MAX_BELIEVED:
            self._found.popitem(last=False)
        return keys


def _key_missing_in_volume(reference: Reference, namespace: str, key: str) -> str:
    word = "config" if reference.resource == CONFIG_MAPS else "secret"
    return f"references non-existent {word} key: {key}"


def _key_missing_in_environment(reference: Reference, namespace: str, key: str) -> str:
    return f"couldn't find key {key} in {reference.resource.kind} {namespace}/{reference.name}"


def _of_container(container: Mapping[str, Any]) -> Iterator[Reference]:
    for source in container.get("envFrom") or ():
        for word, resource in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            if word in source:
                yield _reference(resource, source[word])
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        for word, resource in (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS)):
            if word in source:
                yield _reference(resource, source[word], (source[word].get("key") or "",))


def _of_volume(volume: Mapping[str, Any]) -> Iterator[Reference]:
    if "configMap" in volume:
        yield _reference(CONFIG_MAPS, volume["configMap"], _item_keys(volume["configMap"]))
    if "secret" in volume:
        secret = volume["secret"]
        yield _reference(SECRETS, {**secret, "name": secret.get("secretName")}, _item_keys(secret))
    for source in (volume.get("projected") or {}).get("sources") or ():
        for word, resource in (("configMap", CONFIG_MAPS), ("secret", SECRETS)):
            if word in source and source[word].get("name") != _ROOT_CERTIFICATE:
                yield _reference(resource, source[word], _item_keys(source[word]))


def _item_keys(source: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(item.get("key") or "" for item in source.get("items") or ())


def _reference(resource: Resource, source: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Reference:
    return Reference(resource, source.get("name") or "", keys, bool(source.get("optional")))
