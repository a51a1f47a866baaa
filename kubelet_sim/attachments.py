"""The volumes of pods that have to be attached to the node first: which the node says it uses, and which it waits for.

A kubelet reports a volume in use before it mounts it, and mounts it once the control plane reports it attached: so a
volume is never taken away under a pod. Claims, volumes and drivers are asked for once a pod.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass

from kubeloop.apimachinery.csi import csi_source, needs_attaching, unique_volume_name
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import CSI_DRIVERS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from kubeloop.client.api import Api


@dataclass(frozen=True, slots=True)
class Needed:
    """What a pod needs attached: the names of its volumes -> their names in the status of the node."""

    node: str
    key: ObjectKey
    volumes: Mapping[str, str]


class Attachments:
    """One entry for each pod of these nodes that uses claims, until it ends; `changed` is told of nodes that use
    other volumes than before.
    """

    def __init__(self, api: Api, changed: Callable[[str], None]) -> None:
        self._api, self._changed = api, changed
        self._needed: dict[str, Needed] = {}  # pod uid -> what it needs
        self._users: dict[str, dict[str, Needed]] = {}  # node -> its pods among them that need any, by uid

    async def missing(self, pod: ReadOnlyObject, node: ReadOnlyObject) -> list[str]:
        """The volumes of the pod, by its own names, that are not attached yet."""
        needed = await self._of(pod, name_of(node))
        if not needed.volumes:
            return []
        attached = {one["name"] for one in (node.get("status") or {}).get("volumesAttached") or ()}
        return [name for name, unique in needed.volumes.items() if unique not in attached]

    def release(self, uid: str) -> None:
        """The pod uses its volumes no longer."""
        needed = self._needed.pop(uid, None)
        if needed is not None and needed.volumes:
            users = self._users[needed.node]
            del users[uid]
            if not users:
                del self._users[needed.node]
            self._changed(needed.node)

    def in_use(self, node: str) -> list[str]:
        """`status.volumesInUse` of the node."""
        users = self._users.get(node)
        return sorted({unique for one in users.values() for unique in one.volumes.values()}) if users else []

    def pods_with_volumes(self, node: ReadOnlyObject) -> list[ObjectKey]:
        """Whom a change of the node may concern."""
        return [one.key for one in self._users.get(name_of(node), {}).values()]

    async def _of(self, pod: ReadOnlyObject, node: str) -> Needed:
        needed = self._needed.get(uid_of(pod))
        if needed is None:
            volumes = {name: unique async for name, unique in self._attachable(pod)}
            needed = self._needed[uid_of(pod)] = Needed(node, key_of(pod), volumes)
            if volumes:
                self._users.setdefault(node, {})[uid_of(pod)] = needed
                self._changed(node)
        return needed

    async def _attachable(self, pod: ReadOnlyObject) -> AsyncIterator[tuple[str, str]]:
        for name, claim_name in _claims_of(pod):
            volume = await self._volume_of(claim_name, namespace_of(pod))
            source = csi_source(volume) if volume is not None else None
            if (
                volume is not None
                and source is not None
                and needs_attaching(volume, await self._driver(source["driver"]))
            ):
                yield name, unique_volume_name(volume)

    async def _volume_of(self, claim_name: str, namespace: str) -> Object | None:
        try:
            claim = await self._api.get(PERSISTENT_VOLUME_CLAIMS, claim_name, namespace)
            name = claim["spec"].get("volumeName") or ""
            return await self._api.get(PERSISTENT_VOLUMES, name) if name else None
        except NotFound:
            return None

    async def _driver(self, name: str) -> Object | None:
        try:
            return await self._api.get(CSI_DRIVERS, name)
        except NotFound:
            return None


def _claims_of(pod: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """The names of the pod's volumes that are claims, and those of the claims."""
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["name"], volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield volume["name"], f"{name_of(pod)}-{volume['name']}"
