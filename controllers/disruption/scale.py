"""How many pods an owner wants: from informers for the usual workloads, from the scale subresource for any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, controller_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS, Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.manager import Manager

Reference = Mapping[str, Any]


class NoScale(Exception):
    """Nobody knows how many pods there should be; the message is shown in the budget's status."""


@dataclass(slots=True)
class Scale:
    """`total` over the owners of some pods; pods without an owner are `unmanaged`."""

    total: int = 0
    unmanaged: list[str] = field(default_factory=list)


class Scales:
    def __init__(self, manager: Manager) -> None:
        self._api = manager.api
        self._deployments = manager.informer(DEPLOYMENTS)
        self._replica_sets = manager.informer(REPLICA_SETS)
        self._plain: dict[tuple[str, str], Informer] = {
            ("", "ReplicationController"): manager.informer(REPLICATION_CONTROLLERS),
            ("apps", "ReplicaSet"): self._replica_sets,
            ("apps", "StatefulSet"): manager.informer(STATEFUL_SETS),
        }

    async def of_owners(self, pods: Iterable[ReadOnlyObject]) -> Scale:
        """NoScale where an owner cannot be found or does not scale."""
        scale = Scale()
        found: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                scale.unmanaged.append(name_of(pod))
            elif owner["uid"] not in found:
                uid, replicas = await self._of_owner(pod, owner)
                found[uid] = replicas
        scale.total = sum(found.values())
        return scale

    async def _of_owner(self, pod: ReadOnlyObject, owner: Reference) -> tuple[str, int]:
        """The uid and scale of the owner, or of the Deployment that owns it."""
        informer = self._plain.get((_group(owner), owner["kind"]))
        workload = _named(informer, namespace_of(pod), owner) if informer else None
        if workload is not None:
            grand = controller_of(workload) if informer is self._replica_sets else None
            if grand is None or grand["kind"] != DEPLOYMENTS.kind:
                return uid_of(workload), _replicas(workload)
            deployment = _named(self._deployments, namespace_of(pod), grand)
            if deployment is not None:
                return uid_of(deployment), _replicas(deployment)
        scale = await _scale_subresource(self._api, namespace_of(pod), owner)
        if scale is None or uid_of(scale) != owner["uid"]:
            raise NoScale(f"found no controllers for pod {go_quote(name_of(pod))}")
        return uid_of(scale), (scale.get("spec") or {}).get("replicas") or 0


async def _scale_subresource(api: Api, namespace: str, owner: Reference) -> Object | None:
    """None where the owner is gone."""
    resource, has_scale = await _look_up(api, owner)
    if not has_scale:
        raise NoScale(f"{resource} does not implement the scale subresource")
    try:
        return await api.get(resource, owner["name"], namespace, subresource="scale")
    except NotFound:
        return None


async def _look_up(api: Api, owner: Reference) -> tuple[Resource, bool]:
    """The resource of the owner's kind, and whether it has a scale."""
    group_version, kind = owner["apiVersion"], owner["kind"]
    try:
        path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        entries = (await api.request("GET", path)).get("resources") or []
    except NotFound:
        entries = []
    names = {entry["name"] for entry in entries}
    group, _, version = group_version.rpartition("/")
    for entry in entries:
        if entry["kind"] == kind and "/" not in entry["name"]:
            return Resource(group, version, entry["name"], kind), f"{entry['name']}/scale" in names
    raise NoScale(f"no matches for kind {go_quote(kind)} in version {go_quote(group_version)}")


def _group(reference: Reference) -> str:
    return str(reference["apiVersion"]).rpartition("/")[0]


def _named(informer: Informer, namespace: str, reference: Reference) -> Object | None:
    """The very object the reference means, not another of its name."""
    found = informer.get(ObjectKey(namespace, reference["name"]))
    return found if found is not None and uid_of(found) == reference["uid"] else None


def _replicas(workload: ReadOnlyObject) -> int:
    return int((workload.get("spec") or {}).get("replicas", 1))
