"""The claims of pods: what is wrong with them, and which of their volumes have to be attached to the node first.

A kubelet reports a volume in use before it mounts it, and mounts it once the control plane reports it attached: so a
volume is never taken away under a pod. Claims, volumes and drivers are asked for until they are well, once more for
each try (pkg/kubelet/volumemanager, v1.36).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass

from kubeloop.apimachinery.csi import csi_source, needs_attaching, unique_volume_name
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import CSI_DRIVERS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from kubeloop.client.api import Api


class ClaimProblem(Exception):
    """A volume of a pod, by the pod's name for it, cannot be had now; the text says why."""

    def __init__(self, volume: str, why: str) -> None:
        super().__init__(why)
        self.volume = volume


class _Unfit(Exception):
    """Why a claim cannot be mounted."""


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
        """The volumes of the pod, by its own names, that are not attached yet. Raises ClaimProblem."""
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
            try:
                volume = await self._volume_of(claim_name, namespace_of(pod))
            except _Unfit as why:
                problem = f"error processing PVC {namespace_of(pod)}/{claim_name}: {why}"
                raise ClaimProblem(name, problem) from None
            _check_mode(pod, name, volume)
            source = csi_source(volume)
            if source is not None and needs_attaching(volume, await self._driver(source["driver"])):
                yield name, unique_volume_name(volume)

    async def _volume_of(self, claim_name: str, namespace: str) -> Object:
        """Raises _Unfit."""
        try:
            claim = await self._api.get(PERSISTENT_VOLUME_CLAIMS, claim_name, namespace)
        except NotFound as error:
            raise _Unfit(f"failed to fetch PVC from API server: {error}") from None
        name = claim["spec"].get("volumeName") or ""
        if (claim.get("status") or {}).get("phase") != "Bound" or not name:
            raise _Unfit("PVC is not bound")
        try:
            return await self._api.get(PERSISTENT_VOLUMES, name)
        except NotFound as error:
            raise _Unfit(f"failed to fetch PV {name} from API server: {error}") from None

    async def _driver(self, name: str) -> Object | None:
        try:
            return await self._api.get(CSI_DRIVERS, name)
        except NotFound:
            return None


def _check_mode(pod: ReadOnlyObject, name: str, volume: ReadOnlyObject) -> None:
    """A volume is a file system or a device, and is used as such. Raises ClaimProblem."""
    mode = volume["spec"].get("volumeMode") or "Filesystem"
    field = "volumeMounts" if mode == "Block" else "volumeDevices"
    containers = (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])
    if any(one["name"] == name for container in containers for one in container.get(field) or ()):
        raise ClaimProblem(name, f"volume {name} has volumeMode {mode}, but is specified in {field}")


def _claims_of(pod: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """The names of the pod's volumes that are claims, and those of the claims."""
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["name"], volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield volume["name"], f"{name_of(pod)}-{volume['name']}"
