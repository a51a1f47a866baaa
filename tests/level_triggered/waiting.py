"""What scripts wait for, with the patience that faults ask for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ReadOnlyObject, controller_of, is_being_deleted
from kubeloop.apimachinery.resource import PODS, Resource
from kubeloop.testing.cluster import Cluster

PATIENCE_SECONDS = 7200.0


async def until(
    cluster: Cluster, condition: Callable[[], Coroutine[Any, Any, bool]], within_seconds: float = PATIENCE_SECONDS
) -> None:
    await cluster.eventually(condition, within_seconds, every_seconds=within_seconds / 14_400)


async def until_status(cluster: Cluster, obj: ReadOnlyObject, resource: Resource | None = None, **wanted: Any) -> None:
    """Its status has these fields (None: absent or zero), and is about the newest spec where it says so."""

    async def has_come() -> bool:
        try:
            found = await cluster.read(obj, resource)
        except NotFound:
            return False
        status = found.get("status") or {}
        generation = found["metadata"].get("generation")
        is_current = status.get("observedGeneration", generation) == generation
        return is_current and all((status.get(field) or None) == value for field, value in wanted.items())

    await until(cluster, has_come)


async def until_gone(
    cluster: Cluster,
    obj: ReadOnlyObject,
    resource: Resource | None = None,
    within_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Deleted, or another one of the same name by now."""

    async def is_gone() -> bool:
        try:
            found = await cluster.read(obj, resource)
        except NotFound:
            return True
        uid = obj["metadata"].get("uid")
        return uid is not None and found["metadata"]["uid"] != uid

    await until(cluster, is_gone, within_seconds)


async def until_it_is_there(cluster: Cluster, resource: Resource, name: str, namespace: str = "") -> None:
    async def is_there() -> bool:
        try:
            await cluster.api.get(resource, name, namespace)
        except NotFound:
            return False
        return True

    await until(cluster, is_there)


async def until_free(cluster: Cluster, obj: ReadOnlyObject) -> None:
    """No controller calls it its own."""

    async def is_free() -> bool:
        return controller_of(await cluster.read(obj)) is None

    await until(cluster, is_free)


async def until_pods(cluster: Cluster, count: int, selector: str = "") -> None:
    """So many run, are ready, and none is on its way out."""

    async def are_there() -> bool:
        pods = await cluster.list(PODS, "", selector)
        ready = [pod for pod in pods if is_ready(pod) and not is_being_deleted(pod)]
        return len(ready) == len(pods) == count

    await until(cluster, are_there)


def is_ready(pod: ReadOnlyObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
