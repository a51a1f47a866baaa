"""Writing only where something differs: so that reconciling twice writes once, and a quiet cluster stays quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    deep_copy,
    name_of,
    namespace_of,
    resource_version_of,
    uid_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer

CREATED, UPDATED, UNCHANGED = "created", "updated", "unchanged"


async def create_or_update(
    api: Api,
    resource: Resource,
    name: str,
    namespace: str,
    mutate: Callable[[Object], None],
    informer: Informer | None = None,
) -> tuple[ReadOnlyObject, str]:
    """Bring an object into the shape that `mutate` gives it, and say what came of it.

    `mutate` edits what is there (a private copy), or a bare object with only its name. With the resource's `informer`
    the cache is asked what is there, and an object that needs no change costs no request. Conflict: reconcile again.
    UNCHANGED as well where the server finds nothing to change; a `mutate` that takes defaults away, which the server
    puts back, costs a request each time (`overlay` leaves them).
    """
    current = await _current(api, resource, name, namespace, informer)
    if current is None:
        wanted: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        if resource.namespaced:
            wanted["metadata"]["namespace"] = namespace
        mutate(wanted)
        try:
            return await api.create(resource, wanted, namespace), CREATED
        except AlreadyExists:
            current = await api.get(resource, name, namespace)
    wanted = deep_copy(current)
    mutate(wanted)
    if wanted == current:
        return current, UNCHANGED
    updated = await api.update(resource, wanted)
    return updated, UNCHANGED if resource_version_of(updated) == resource_version_of(current) else UPDATED


async def _current(
    api: Api, resource: Resource, name: str, namespace: str, informer: Informer | None
) -> ReadOnlyObject | None:
    if informer is not None:
        return informer.get(ObjectKey(namespace, name))
    try:
        return await api.get(resource, name, namespace)
    except NotFound:
        return None


async def update_status(api: Api, resource: Resource, obj: ReadOnlyObject, status: Object) -> ReadOnlyObject:
    """PUT the status subresource, unless it already says so. Conflict where the cache was behind."""
    if (obj.get("status") or {}) == status:
        return obj
    return await api.update(resource, {**obj, "status": status}, subresource="status")


async def patch_status(
    api: Api, resource: Resource, obj: ReadOnlyObject, changes: ReadOnlyObject, *, check_version: bool = False
) -> ReadOnlyObject:
    """Merge `changes` into the status; only what it does not say already is sent. None values delete fields.

    Conflict where the object is another one by now, and with `check_version` (needed where `changes` has lists that
    others write to as well) where it was changed at all.
    """
    needed = _needed(obj.get("status") or {}, changes)
    if not needed:
        return obj
    metadata = {"uid": uid_of(obj)}
    if check_version:
        metadata["resourceVersion"] = resource_version_of(obj)
    patch = {"metadata": metadata, "status": needed}
    return await api.patch(resource, name_of(obj), patch, namespace_of(obj), subresource="status")


def _needed(current: ReadOnlyObject, changes: ReadOnlyObject) -> Object:
    """The part of a merge patch that makes a difference."""
    needed: Object = {}
    for field, wanted in changes.items():
        found = current.get(field)
        if isinstance(wanted, Mapping) and isinstance(found, Mapping):
            if inside := _needed(found, wanted):
                needed[field] = inside
        elif wanted != found:
            needed[field] = wanted
    return needed
