"""Creating and deleting pods for an owner, with the events people look for.

Used by every loop that makes pods from a template (ReplicaSet, ReplicationController, Job, DaemonSet). Creations start
slowly: 1, 2, 4, … at once, so that a quota that refuses all of a thousand pods is asked once and not a thousand times.
RealPodControl and slowStartBatch of pkg/controller, v1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, controller_reference, name_of, namespace_of
from kubeloop.apimachinery.resource import PODS, Resource
from kubeloop.apimachinery.validation import dns_subdomain_errors
from kubeloop.client.api import Api
from kubeloop.runtime.event_recorder import EventRecorder

# The most requests one owner has under way: doubling goes no further.
MAX_AT_ONCE = 64


def pod_from_template(template: ReadOnlyObject, owner: ReadOnlyObject, owner_resource: Resource) -> Object:
    """The pod to create: the template's labels, annotations, finalizers and spec, a generated name, the owner."""
    described = template.get("metadata") or {}
    kept = {field: described[field] for field in ("labels", "annotations", "finalizers") if described.get(field)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **kept,
            "namespace": namespace_of(owner),
            "generateName": name_prefix(name_of(owner)),
            "ownerReferences": [controller_reference(owner, owner_resource.api_version, owner_resource.kind)],
        },
        "spec": template["spec"],
    }


def name_prefix(owner_name: str) -> str:
    """`web-`, or the bare name where the dash would make it too long."""
    prefix = f"{owner_name}-"
    return owner_name if dns_subdomain_errors(prefix, is_prefix=True) else prefix


def is_namespace_terminating(error: Exception) -> bool:
    """Whether a creation was refused because its namespace is going away: it will never succeed, and nobody minds."""
    if not isinstance(error, ApiError) or not error.details:
        return False
    causes: list[dict[str, Any]] = error.details.get("causes") or []
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


class PodControl:
    def __init__(self, api: Api, recorder: EventRecorder, owner_resource: Resource) -> None:
        self._api, self._recorder, self._owner_resource = api, recorder, owner_resource

    async def create(self, owner: ReadOnlyObject, pod: Object) -> Object:
        try:
            created = await self._api.create(PODS, pod, namespace_of(owner))
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        await self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")
        return created

    async def delete(self, owner: ReadOnlyObject, pod_name: str) -> None:
        """NotFound is raised without an event: somebody else was faster."""
        try:
            await self._api.delete(PODS, pod_name, namespace_of(owner))
        except NotFound:
            raise
        except ApiError as error:
            await self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        await self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod_name}")


async def slow_start(count: int, attempt: Callable[[], Awaitable[object]]) -> tuple[int, Exception | None]:
    """Call `attempt` up to `count` times, in batches that double while all goes well.

    Returns how often it went well, and the first error of the batch that ended it. The rest was never tried.
    """
    done, size = 0, min(count, 1)
    while size:
        errors = await at_once([attempt] * size)
        done += size - len(errors)
        if errors:
            return done, errors[0]
        size = min(2 * size, count - done, MAX_AT_ONCE)
    return done, None


async def at_once(attempts: Iterable[Callable[[], Awaitable[object]]]) -> list[Exception]:
    """All of them, at most MAX_AT_ONCE under way; what went wrong, in order. One failing does not stop the others."""
    errors: list[Exception] = []
    under_way = asyncio.Semaphore(MAX_AT_ONCE)

    async def run(attempt: Callable[[], Awaitable[object]]) -> None:
        async with under_way:
            try:
                await attempt()
            except ApiError as error:
                errors.append(error)

    async with asyncio.TaskGroup() as tasks:
        for attempt in attempts:
            tasks.create_task(run(attempt))
    return errors
