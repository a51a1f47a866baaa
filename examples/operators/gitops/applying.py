"""Bringing one object into the shape that Git has: compare by a dry run, apply where that shows a difference."""

from __future__ import annotations

import re

from examples.operators.gitops.application import Application
from examples.operators.gitops.health import Health, health_of
from examples.operators.gitops.outcome import OUT_OF_SYNC, SYNCED, Outcome, is_of_the_connection
from examples.operators.gitops.tracked import Tracked
from examples.operators.gitops.wanted import Identity, Wanted
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, metadata, resource_version_of
from kubeloop.client.api import Api
from kubeloop.client.discovery import KindMapper

# What differs between an object and itself applied once more, and says nothing about what was asked for.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation")
_conflicting_manager = re.compile(r'^conflict with "((?:[^"\\]|\\.)*)"')


class Applier:
    """Remembers which version of an object was found to be as wished, so that a quiet cluster is asked nothing."""

    def __init__(self, api: Api, mapper: KindMapper, tracked: Tracked) -> None:
        self._api, self._mapper, self._tracked = api, mapper, tracked
        # By Application and object: the digest and resourceVersion of the last comparison without a difference.
        self._in_sync: dict[ObjectKey, dict[Identity, tuple[bytes, str]]] = {}

    async def bring(self, application: Application, wanted: Wanted, may_write: bool) -> Outcome:
        """What it is like now; afterwards it is as Git has it, where `may_write` and nobody refuses that."""
        self._tracked.watch(wanted.resource)
        live: ReadOnlyObject | None = None
        is_changed = False
        try:
            live = await self._live(wanted)
            is_synced, live = await self._compare(application, wanted, live)
            if not is_synced and may_write:
                live = await self._apply(application, wanted)
                self._remember(application, wanted, live)
                is_synced = is_changed = True
        except ApiError as error:
            if is_of_the_connection(error):
                raise
            if isinstance(error, NotFound):
                self._mapper.forget(wanted.resource)  # its namespace is missing, or the kind is not served any more
            return _outcome(wanted, OUT_OF_SYNC, _health(wanted, live), message=error.message, is_failed=True)
        sync = SYNCED if is_synced else OUT_OF_SYNC
        return _outcome(wanted, sync, _health(wanted, live), is_changed=is_changed)

    def forget(self, key: ObjectKey) -> None:
        """The Application is gone."""
        self._in_sync.pop(key, None)

    async def _live(self, wanted: Wanted) -> ReadOnlyObject | None:
        identity, resource = wanted.identity, wanted.resource
        seen = self._tracked.find(resource, ObjectKey(identity.namespace, identity.name))
        if seen is not None:
            return seen
        try:
            return await self._api.get(resource, identity.name, identity.namespace)
        except NotFound:
            return None

    async def _compare(
        self, application: Application, wanted: Wanted, live: ReadOnlyObject | None
    ) -> tuple[bool, ReadOnlyObject | None]:
        """Whether applying would change nothing, and the object, newer than `live` where that was behind."""
        if live is None:
            return False, None
        known = self._in_sync.get(application.key, {}).get(wanted.identity)
        if known == (wanted.digest, resource_version_of(live)):
            return True, live
        applied = await self._send(application, wanted, force=True, dry_run=True)
        if resource_version_of(applied) != resource_version_of(live):
            live = await self._api.get(wanted.resource, wanted.identity.name, wanted.identity.namespace)
        if _essence(applied) != _essence(live):
            return False, live
        self._remember(application, wanted, live)
        return True, live

    async def _apply(self, application: Application, wanted: Wanted) -> Object:
        """Drift is overwritten; what others apply stays theirs, and the conflict is told, unless the policy forces."""
        try:
            return await self._send(application, wanted, force=application.policy.force_conflicts)
        except Conflict as error:
            if not await self._is_drift(application, wanted, error):
                raise
        return await self._send(application, wanted, force=True)

    async def _is_drift(self, application: Application, wanted: Wanted, error: Conflict) -> bool:
        """Whether this is ours, changed by writers that do not apply: by hand, that is, or by a wayward controller."""
        messages = [str(cause.get("message") or "") for cause in (error.details or {}).get("causes") or ()]
        rivals = {match[1] for message in messages if (match := _conflicting_manager.match(message))}
        live = await self._api.get(wanted.resource, wanted.identity.name, wanted.identity.namespace)
        entries = metadata(live).get("managedFields") or ()
        appliers = {entry.get("manager") for entry in entries if entry.get("operation") == "Apply"}
        return bool(rivals) and application.field_manager in appliers and not rivals & appliers

    async def _send(self, application: Application, wanted: Wanted, *, force: bool, dry_run: bool = False) -> Object:
        manager = application.field_manager
        return await self._api.apply(wanted.resource, wanted.obj, field_manager=manager, force=force, dry_run=dry_run)

    def _remember(self, application: Application, wanted: Wanted, live: ReadOnlyObject) -> None:
        known = self._in_sync.setdefault(application.key, {})
        known[wanted.identity] = (wanted.digest, resource_version_of(live))

    def keep_only(self, application: Application, identities: set[Identity]) -> None:
        """Forget objects that are not wanted any more."""
        known = self._in_sync.get(application.key, {})
        for identity in known.keys() - identities:
            del known[identity]


def _essence(obj: ReadOnlyObject) -> Object:
    """Without bookkeeping and status: what somebody wished."""
    wished = {field: value for field, value in obj.items() if field != "status"}
    return {**wished, "metadata": {k: v for k, v in metadata(obj).items() if k not in _BOOKKEEPING}}


def _health(wanted: Wanted, live: ReadOnlyObject | None) -> Health:
    return health_of(live, wanted.resource.group, wanted.resource.kind)


def _outcome(
    wanted: Wanted, sync: str, health: Health, *, message: str = "", is_failed: bool = False, is_changed: bool = False
) -> Outcome:
    version = wanted.resource.version
    return Outcome(wanted.identity, version, sync, health, message, is_failed=is_failed, is_changed=is_changed)
