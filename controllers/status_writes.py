"""Writing the status of an owner whose status nobody else writes."""

from __future__ import annotations

from controllers.own_writes import OwnWrites
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api


class StatusWrites:
    """What is written goes into `own_writes`, for the next reconcile to start from."""

    def __init__(self, api: Api, resource: Resource, own_writes: OwnWrites) -> None:
        self._api, self._resource, self._own_writes = api, resource, own_writes

    async def write(self, owner: Object, status: Object) -> None:
        """One more try on the newest version: since nobody else writes this status, a conflict is about something else.

        observedGeneration stays that of the spec that was acted on.
        """
        try:
            await self._put(owner, status)
        except Conflict:
            fresh = await self._api.get(self._resource, name_of(owner), namespace_of(owner))
            if uid_of(fresh) != uid_of(owner):
                raise
            self._own_writes.wrote(owner, await self._put(fresh, status))
        except NotFound:
            return  # deleted meanwhile

    async def _put(self, owner: Object, status: Object) -> Object:
        written = await self._api.update(self._resource, {**owner, "status": status}, subresource="status")
        self._own_writes.wrote(owner, written)
        return written
