"""Writing only where something differs: so that reconciling twice writes once, and a quiet cluster stays quiet."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of, resource_version_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api

CREATED, UPDATED, UNCHANGED = "created", "updated", "unchanged"


async def create_or_update(
    api: Api, resource: Resource, name: str, namespace: str, mutate: Callable[[Object], None]
) -> tuple[Object, str]:
    """Bring an object into the shape that `mutate` gives it, and say whether that took a write.

    `mutate` edits what is there (a private copy), or a bare object with only its name. Conflict: reconcile again.
    """
    try:
        current = await api.get(resource, name, namespace)
    except NotFound:
        wanted: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        if resource.namespaced:
            wanted["metadata"]["namespace"] = namespace
        mutate(wanted)
        try:
            return await api.create(resource, wanted, namespace), CREATED
        except AlreadyExists:
            current = await api.get(resource, name, namespace)
    wanted = copy.deepcopy(current)
    mutate(wanted)
    if wanted == current:
        return current, UNCHANGED
    return await api.update(resource, wanted), UPDATED


async def update_status(api: Api, resource: Resource, obj: ReadOnlyObject, status: Object) -> ReadOnlyObject:
    """PUT the status subresource, unless it already says so. Conflict where the cache was behind."""
    if (obj.get("status") or {}) == status:
        return obj
    return await api.update(resource, {**obj, "status": status}, subresource="status")


async def patch_status(
    api: Api, resource: Resource, obj: ReadOnlyObject, changes: Object, *, check_version: bool = False
) -> ReadOnlyObject:
    """Merge `changes` into the status, unless they are there already; None values delete fields."""
    status = obj.get("status") or {}
    if all(status.get(field) == value for field, value in changes.items()):
        return obj
    patch: dict[str, Any] = {"status": changes}
    if check_version:
        patch["metadata"] = {"resourceVersion": resource_version_of(obj)}
    return await api.patch(resource, name_of(obj), patch, namespace_of(obj), subresource="status")
