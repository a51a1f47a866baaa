"""Writing the status of one's own objects: only what changed, for the generation that was acted on.

A loop has one StatusWriter a resource. Who shares a status with others applies its own part instead:
`api.apply(WIDGETS, {..., "status": {...}}, field_manager="widgets", force=True, subresource="status")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import Condition, conditions_of, set_condition
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    generation_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.runtime.apply import patch_status
from kubeloop.runtime.own_writes import OwnWrites


class StatusWriter:
    """`patch` for a status of conditions and fields, `replace` for one that nobody else writes.

    What was written is remembered until the cache shows it, so a reconcile that comes too early for the cache neither
    writes it again nor ends in a Conflict. Whoever plans on the status too hands in the `own_writes` to look at.
    """

    def __init__(self, api: Api, resource: Resource, clock: Clock, own_writes: OwnWrites | None = None) -> None:
        self._api, self._resource, self._clock = api, resource, clock
        self._own_writes = OwnWrites() if own_writes is None else own_writes

    async def patch(
        self, obj: Object, changes: ReadOnlyObject | None = None, conditions: Sequence[Condition] = ()
    ) -> Object:
        """Make the status say `changes` and `conditions`; what it says beside them stays. Nothing new, no request.

        observedGeneration (of the status, and of each condition) becomes that of `obj`: the status has to have such
        fields. lastTransitionTime moves only where a condition's status does. Raises Conflict where `obj` is out of
        date, and so might say too little: conditions are one list, and somebody may have added to it.
        """
        latest = self._own_writes.latest(obj)
        if generation_of(latest) == generation_of(obj):  # else the spec that `obj` shows is no longer the one acted on
            obj = latest
        wanted = status_changes(obj, changes or {}, conditions, self._clock.now())
        try:
            written = await patch_status(self._api, self._resource, obj, wanted, check_version=True)
        except NotFound:
            return obj  # deleted meanwhile
        if written is obj:
            return obj
        after = dict(written)
        self._own_writes.wrote(obj, after)
        return after

    async def replace(self, obj: ReadOnlyObject, status: Object) -> None:
        """PUT it. One more try on the newest version: since nobody else writes it, a conflict is about something else.

        observedGeneration stays that of the spec that was acted on.
        """
        try:
            await self._put(obj, status)
        except Conflict:
            fresh = await self._api.get(self._resource, name_of(obj), namespace_of(obj))
            if uid_of(fresh) != uid_of(obj):
                raise
            self._own_writes.wrote(obj, await self._put(fresh, status))
        except NotFound:
            return  # deleted meanwhile

    async def _put(self, obj: ReadOnlyObject, status: Object) -> Object:
        written = await self._api.update(self._resource, {**obj, "status": status}, subresource="status")
        self._own_writes.wrote(obj, written)
        return written


def status_changes(
    obj: ReadOnlyObject, changes: ReadOnlyObject, conditions: Sequence[Condition], now: datetime
) -> Object:
    """What `StatusWriter.patch` makes of its arguments: fields of a status, with the whole list of conditions."""
    wanted = dict(changes)
    generation = generation_of(obj)
    if generation:
        wanted["observedGeneration"] = generation
    observed = {"observedGeneration": generation} if generation else {}
    if conditions:
        merged: Sequence[Condition] = conditions_of(obj)
        for condition in conditions:
            merged = set_condition(merged, {**observed, **condition}, format_time(now))
        wanted["conditions"] = merged
    return wanted
