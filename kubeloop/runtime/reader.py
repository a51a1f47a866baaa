"""Reading through the cache in the words of the Api: `await manager.reader().get(SECRETS, "web", "default")`.

For a reconciler that looks at many kinds and would not hold an informer of each. What is asked for the first time
starts an informer of the whole resource and waits until it knows the world, so the first read costs a list and every
later one nothing. As with informers, objects are read-only and lag a little behind the server, own writes included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Objects


class CachedReader:
    """Made by `manager.reader()`; usable while the manager runs. `uncached`: resources read from the server instead.

    Uncached is for what is large, rarely read or forbidden to list (of Secrets one may be allowed to get some).
    """

    def __init__(self, api: Api, informer_of: Callable[[Resource], Informer], uncached: Collection[Resource]) -> None:
        self._api, self._informer_of, self._uncached = api, informer_of, frozenset(uncached)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """NotFound where the cache has no such object, as from the server."""
        if resource in self._uncached:
            return await self._api.get(resource, name, namespace)
        informer = await self._informer(resource)
        found = informer.get(ObjectKey(namespace, name))
        if found is None:
            raise NotFound.of(resource.plural, resource.group, name)
        return found

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> Objects:
        """Of one namespace, or of all ("")."""
        if resource in self._uncached:
            page = await self._api.list(resource, namespace, label_selector=label_selector)
            uncached: Objects = page["items"]
            return uncached
        informer = await self._informer(resource)
        if not label_selector:
            return informer.list(namespace)
        from kubeloop.apimachinery.selector_text import parse  # 20 ms to import, for those who write one

        return informer.list(namespace, parse(label_selector))

    async def by_field(self, resource: Resource, field: str, value: str) -> Objects:
        """Those with that value at a field such as "spec.nodeName" (client/indexes.py); the index is made once."""
        informer = await self._informer(resource)
        informer.index_field(field)
        return informer.by_index(field, value)

    async def _informer(self, resource: Resource) -> Informer:
        informer = self._informer_of(resource)
        if not informer.has_synced:
            await informer.wait_for_sync()
        return informer
