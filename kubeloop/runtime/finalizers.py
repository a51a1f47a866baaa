"""Putting a finalizer on an object and taking it off, so that no deletion overtakes a loop's own clean-up.

Every write carries the version that was read: a cache that is behind ends in a Conflict, and the reconcile is tried
again with a newer one. So two loops that let go of one object at once do not undo each other's writes, and a namesake
made meanwhile is never touched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    finalizers_of,
    is_being_deleted,
    name_of,
    namespace_of,
    resource_version_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api

# Whoever gives an object he may edit gets one back.
AnyObject = TypeVar("AnyObject", Object, ReadOnlyObject)


async def finalize(
    api: Api,
    resource: Resource,
    obj: AnyObject,
    finalizer: str,
    clean_up: Callable[[], Awaitable[None]],
) -> AnyObject | None:
    """Both ends of an object's life, at the head of a reconcile: the object with the finalizer on it.

    None: it is being deleted, and there is nothing more to do. `clean_up` has run then, and the finalizer is off. It
    must be idempotent; what it raises keeps the finalizer on (`Unfinished` where it only has to wait).
    """
    if not is_being_deleted(obj):
        return await ensure_finalizer(api, resource, obj, finalizer)
    if finalizer in finalizers_of(obj):
        await clean_up()
        await remove_finalizer(api, resource, obj, finalizer)
    return None


async def ensure_finalizer(api: Api, resource: Resource, obj: AnyObject, finalizer: str) -> AnyObject:
    """The object with the finalizer on it; Conflict where the cache was behind (the reconcile is tried again).

    Not for an object that is being deleted: it takes none any more (Invalid).
    """
    if finalizer in finalizers_of(obj):
        return obj
    return await _set_finalizers(api, resource, obj, [*finalizers_of(obj), finalizer])


async def remove_finalizer(api: Api, resource: Resource, obj: ReadOnlyObject, finalizer: str) -> None:
    """Take it off; an object that is gone has none."""
    finalizers = finalizers_of(obj)
    if finalizer not in finalizers:
        return
    try:
        await _set_finalizers(api, resource, obj, [each for each in finalizers if each != finalizer])
    except NotFound:
        return


async def _set_finalizers(api: Api, resource: Resource, obj: ReadOnlyObject, finalizers: list[str]) -> Object:
    """A merge patch replaces the whole list, so the version it was read at goes along."""
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": resource_version_of(obj)}}
    return await api.patch(resource, name_of(obj), patch, namespace_of(obj))
