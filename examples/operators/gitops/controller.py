"""The Application controller: one pass reads Git, compares, applies and prunes as far as it may, and reports.

A pass goes by what is (the Application, the commit, the cluster) and never by what happened, so whatever was missed or
interrupted is made good by the next one. It is called when the Application or something it applied changes, and every
`poll_seconds` to see what its revision means now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from examples.operators.gitops import reporting
from examples.operators.gitops.application import APPLICATIONS, FINALIZER, Application
from examples.operators.gitops.applying import Applier
from examples.operators.gitops.git import Git, GitError
from examples.operators.gitops.pruning import Pruned, Pruner, inventory_of, to_status, with_wanted
from examples.operators.gitops.reporting import Pass, is_due, last_sync_of
from examples.operators.gitops.sources import Snapshot, Sources
from examples.operators.gitops.telling import Telling, events_of, healing_events, source_events
from examples.operators.gitops.tracked import Tracked
from examples.operators.gitops.wanted import Plan, plan
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, finalizers_of, is_being_deleted, key_of
from kubeloop.client.discovery import KindMapper
from kubeloop.runtime import (
    DONE,
    Controller,
    For,
    Manager,
    RequeueAfter,
    Result,
    ensure_finalizer,
    patch_status,
    remove_finalizer,
)
from kubeloop.runtime.predicates import annotations_changed, any_of, generation_changed
from kubeloop.runtime.source import Source

WORKERS = 4
POLL_SECONDS = 10.0
# How soon to look again at what no event will tell of: a kind that is about to be served, an object about to go.
WAIT_SECONDS = 1.0


def add_to(manager: Manager, git: Git, poll_seconds: float = POLL_SECONDS) -> None:
    reconciler = ApplicationReconciler(manager, git, poll_seconds, lambda source: controller.watch(source))
    own = For(reconciler.applications, [any_of(generation_changed, annotations_changed)])
    controller = Controller("application", reconciler, [own], workers=WORKERS)
    manager.add(controller)


class ApplicationReconciler:
    def __init__(self, manager: Manager, git: Git, poll_seconds: float, add_source: Callable[[Source], None]) -> None:
        self._api, self._clock, self._poll_seconds = manager.api, manager.clock, poll_seconds
        self.applications = manager.informer(APPLICATIONS)
        self._recorder = manager.event_recorder("gitops")
        self._sources = Sources(git)
        self._mapper, self._tracked = KindMapper(manager.api), Tracked(manager, add_source)
        self._applier = Applier(manager.api, self._mapper, self._tracked)
        self._pruner = Pruner(manager.api, self._mapper, self._tracked)

    async def reconcile(self, key: ObjectKey) -> Result:
        obj: ReadOnlyObject | None = self.applications.get(key)
        if obj is None:
            self._applier.forget(key)
            return DONE
        if is_being_deleted(obj):
            return await self._leave(obj)
        obj = await ensure_finalizer(self._api, APPLICATIONS, obj, FINALIZER)
        application = Application.of(obj)
        try:
            snapshot = await self._sources.read(application.source)
        except GitError as error:
            return await self._report_unreadable(obj, error)
        return await self._sync(obj, application, snapshot)

    async def _sync(self, obj: ReadOnlyObject, application: Application, snapshot: Snapshot) -> Result:
        wished = await self._plan(application, snapshot)
        may_write = is_due(application, last_sync_of(obj), snapshot.commit)
        noted = await self._note_before_writing(obj, application, snapshot, wished) if may_write else obj
        outcomes = [await self._applier.bring(application, one, may_write) for one in wished.wanted]
        awaited = reporting.awaited_kinds(wished, outcomes) if may_write else set()
        pruned = await self._prune(noted, application, wished, may_write)
        seen = Pass(
            application,
            snapshot.commit,
            wished,
            [*outcomes, *reporting.unknown_outcomes(wished, awaited), *pruned.outcomes],
            {each: version for each, version in inventory_of(noted).items() if each not in pruned.gone},
            has_synced=may_write,
            is_waiting=bool(awaited) or pruned.is_underway,
        )
        # Before the status: if that is refused, the next pass finds nothing to undo.
        await self._tell(obj, healing_events(obj, seen))
        changes = reporting.status_of(noted, seen, self._clock.now())
        await self._write_status(noted, changes)
        await self._tell(obj, events_of(obj, changes, seen, pruned.gone))
        return RequeueAfter(WAIT_SECONDS if seen.is_waiting else self._poll_seconds)

    async def _plan(self, application: Application, snapshot: Snapshot) -> Plan:
        wished = await plan(self._mapper, application, snapshot.directory)
        for unknown in wished.unknown:
            group, version = unknown.identity.group, unknown.version
            self._tracked.forget(f"{group}/{version}" if group else version, unknown.identity.kind)
        self._applier.keep_only(application, {one.identity for one in wished.wanted})
        return wished

    async def _note_before_writing(
        self, obj: ReadOnlyObject, application: Application, snapshot: Snapshot, wished: Plan
    ) -> ReadOnlyObject:
        """What will be applied goes into the inventory first: should we be killed in between, it can be pruned."""
        before = inventory_of(obj)
        inventory = with_wanted(before, wished.wanted)
        changes: Object = {}
        if inventory != before:
            changes["inventory"] = to_status(inventory)
        if not reporting.is_same_sync(last_sync_of(obj), application, snapshot.commit):
            changes["lastSync"] = reporting.begun(application, snapshot.commit, self._clock.now())
        return await self._write_status(obj, changes)

    async def _prune(self, obj: ReadOnlyObject, application: Application, wished: Plan, may_write: bool) -> Pruned:
        """What of the inventory Git does not have. Nothing goes while a part of what Git has cannot be read."""
        wanted = {one.identity for one in wished.wanted}
        extras = {each: version for each, version in inventory_of(obj).items() if each not in wanted}
        may_delete = may_write and application.policy.prune and wished.is_complete
        return await self._pruner.prune(application.key, extras, may_delete)

    async def _leave(self, obj: ReadOnlyObject) -> Result:
        """What was applied goes with the Application, which is let go when all of it has gone."""
        if FINALIZER not in finalizers_of(obj):
            return DONE
        inventory = inventory_of(obj)
        pruned = await self._pruner.prune(key_of(obj), inventory, may_delete=True)
        if not pruned.outcomes:
            await remove_finalizer(self._api, APPLICATIONS, obj, FINALIZER)
            return DONE
        left = {each: version for each, version in inventory.items() if each not in pruned.gone}
        await self._write_status(obj, reporting.leaving_status(obj, pruned.outcomes, left, self._clock.now()))
        return RequeueAfter(WAIT_SECONDS)

    async def _report_unreadable(self, obj: ReadOnlyObject, error: GitError) -> Result:
        changes = reporting.unreadable_status(obj, str(error), self._clock.now())
        await self._write_status(obj, changes)
        await self._tell(obj, source_events(obj, changes))
        return RequeueAfter(self._poll_seconds)

    async def _write_status(self, obj: ReadOnlyObject, changes: Object) -> ReadOnlyObject:
        """Only over the version that was read: an inventory is never overwritten with an older one."""
        return await patch_status(self._api, APPLICATIONS, obj, changes, check_version=True)

    async def _tell(self, obj: ReadOnlyObject, tellings: Iterable[Telling]) -> None:
        for telling in tellings:
            await self._recorder.event(obj, telling.type, telling.reason, telling.message)
