"""Putting a finalizer on an object and taking it off, so that no deletion overtakes a loop's own clean-up."""

from __future__ import annotations

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, finalizers_of, name_of, namespace_of, resource_version_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api


async def ensure_finalizer(api: Api, resource: Resource, obj: ReadOnlyObject, finalizer: str) -> ReadOnlyObject:
    """The object with the finalizer on it; Conflict where the cache was behind (the reconcile is tried again)."""
    finalizers = finalizers_of(obj)
    if finalizer in finalizers:
        return obj
    return await _set_finalizers(api, resource, obj, [*finalizers, finalizer])


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
