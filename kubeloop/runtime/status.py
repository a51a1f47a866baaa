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

    What is written goes into `own_writes`, where there are any, for the next reconcile to start from.
    """

    def __init__(self, api: Api, resource: Resource, clock: Clock, own_writes: OwnWrites | None = None) -> None:
        self._api, self._resource, self._clock, self._own_writes = api, resource, clock, own_writes

    async def patch(
        self, obj: ReadOnlyObject, changes: ReadOnlyObject | None = None, conditions: Sequence[Condition] = ()
    ) -> ReadOnlyObject:
        """Make the status say `changes` and `conditions`; what it says beside them stays. Nothing new, no request.

        observedGeneration (of the status, and of each condition) becomes that of `obj`: the status has to have such
        fields. lastTransitionTime moves only where a condition's status does. Raises Conflict where `obj` is out of
        date, and so might say too little: conditions are one list, and somebody may have added to it.
        """
        wanted = status_changes(obj, changes or {}, conditions, self._clock.now())
        try:
            written = await patch_status(self._api, self._resource, obj, wanted, check_version=True)
        except NotFound:
            return obj  # deleted meanwhile
        if written is not obj:
            self._note(obj, dict(written))
        return written

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
            self._note(obj, await self._put(fresh, status))
        except NotFound:
            return  # deleted meanwhile

    async def _put(self, obj: ReadOnlyObject, status: Object) -> Object:
        written = await self._api.update(self._resource, {**obj, "status": status}, subresource="status")
        self._note(obj, written)
        return written

    def _note(self, before: ReadOnlyObject, after: Object) -> None:
        if self._own_writes is not None:
            self._own_writes.wrote(before, after)


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
