"""The control loop. `reconcile` reads as a list of steps; each may be the last one before a crash.

A MySQLBackup is worked on until its dump is stored or its Job has failed; `status.completedAt` says that this is over.
From then on the operator only keeps the record of the dump, until the backup has been kept long enough or is deleted.
"""

from __future__ import annotations

import contextlib

from examples.operators.mysql_backup.api import DUMP_FINALIZER, MYSQL_BACKUPS, OPERATOR, SUCCEEDED, SYSTEM_NAMESPACE
from examples.operators.mysql_backup.children import backup_keys, job_for, job_name, record_name, record_of
from examples.operators.mysql_backup.model import Backup
from examples.operators.mysql_backup.plan import Standing, name_taken, reason_of, refusal, standing, status_of
from kubeloop.apimachinery.errors import STALE, AlreadyExists, Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    finalizers_of,
    is_being_deleted,
    is_controlled_by,
    resource_version_of,
    uid_of,
)
from kubeloop.apimachinery.resource import CONFIG_MAPS, JOBS
from kubeloop.runtime import (
    DONE,
    Controller,
    For,
    Manager,
    Owns,
    OwnWrites,
    RequeueAfter,
    Result,
    StatusWriter,
    TerminalError,
    Watches,
    ensure_finalizer,
    remove_finalizer,
    set_controller_reference,
)

LOOK_AGAIN_SECONDS = 30.0
_WORKERS = 4


class MySQLBackupReconciler:
    def __init__(self, manager: Manager) -> None:
        self._api, self._clock = manager.api, manager.clock
        self.backups = manager.informer(MYSQL_BACKUPS)
        managed = f"app.kubernetes.io/managed-by={OPERATOR}"
        self.jobs = manager.informer(JOBS, label_selector=managed)
        self.records = manager.informer(CONFIG_MAPS, SYSTEM_NAMESPACE, label_selector=managed)
        self._recorder = manager.event_recorder(OPERATOR)
        self._own_writes = OwnWrites()  # what the cache may not show yet
        self._statuses = StatusWriter(manager.api, MYSQL_BACKUPS, manager.clock, self._own_writes)

    async def reconcile(self, key: ObjectKey) -> Result:
        cached = self.backups.get(key)
        if cached is None:
            self._own_writes.forget(key)
            return DONE  # the garbage collector takes its Job
        obj = self._own_writes.latest(cached)
        if is_being_deleted(obj):
            return await self._clean_up(obj)
        if Backup.of(obj).completed_at:
            return await self._keep(obj)
        obj = await self._hold_until_cleaned_up(obj)
        await self._refuse_what_cannot_be(obj)
        obj = await self._decide_on_the_job(obj)
        job = self.jobs.get(ObjectKey(key.namespace, Backup.of(obj).job_name)) or await self._start(obj)
        return await self._follow(obj, job)

    async def _hold_until_cleaned_up(self, obj: Object) -> Object:
        held = dict(await ensure_finalizer(self._api, MYSQL_BACKUPS, obj, DUMP_FINALIZER))
        self._own_writes.wrote(obj, held)
        return held

    async def _refuse_what_cannot_be(self, obj: Object) -> None:
        refused = refusal(Backup.of(obj))
        if refused is not None:
            await self._report(obj, refused)
            raise TerminalError(refused.message)

    async def _decide_on_the_job(self, obj: Object) -> Object:
        """Name the Job before it is made: from then on the schema lets nobody change what it was made from."""
        if Backup.of(obj).job_name:
            return obj
        return await self._statuses.patch(obj, {"jobName": job_name(Backup.of(obj))})

    async def _start(self, obj: Object) -> ReadOnlyObject:
        """The Job. Ask first: a cache that lags may show a backup as open whose Job came and went, and dump twice."""
        backup = Backup.of(obj)
        fresh = await self._api.get(MYSQL_BACKUPS, backup.key.name, backup.key.namespace)
        if resource_version_of(fresh) != resource_version_of(obj):
            raise Conflict.of(MYSQL_BACKUPS.plural, MYSQL_BACKUPS.group, backup.key.name, STALE)
        job = job_for(backup)
        set_controller_reference(job, obj, MYSQL_BACKUPS)
        try:
            return await self._api.create(JOBS, job)
        except AlreadyExists:
            return await self._api.get(JOBS, backup.job_name, backup.key.namespace)

    async def _follow(self, obj: Object, job: ReadOnlyObject) -> Result:
        backup = Backup.of(obj)
        if not is_controlled_by(job, obj):
            await self._report(obj, name_taken(backup))
            return RequeueAfter(LOOK_AGAIN_SECONDS)  # it is no child of ours, so its end wakes nobody
        found = standing(backup, job, self._clock.now())
        if found.phase == SUCCEEDED:
            await self._record_dump(backup, found.completed_at)
        obj = await self._report(obj, found)
        if found.completed_at:
            return await self._keep(obj)
        # Changes of the Job wake us; that nothing happens to it does not.
        return RequeueAfter(LOOK_AGAIN_SECONDS)

    async def _keep(self, obj: ReadOnlyObject) -> Result:
        """It is over: mend the record if somebody removed it, and delete the backup when its time has come."""
        backup = Backup.of(obj)
        if backup.phase == SUCCEEDED and self.records.get(ObjectKey(SYSTEM_NAMESPACE, record_name(backup))) is None:
            await self._record_dump(backup, backup.completed_at)
        if backup.expires_at is None:
            return DONE
        seconds = (backup.expires_at - self._clock.now()).total_seconds()
        if seconds > 0:
            return RequeueAfter(seconds)
        await self._recorder.event(obj, "Normal", "Expired", f"kept for {backup.keep_for}, deleting")
        with contextlib.suppress(NotFound):
            version = resource_version_of(obj)  # whoever has just asked for longer keeps it
            await self._api.delete(
                MYSQL_BACKUPS, backup.key.name, backup.key.namespace, uid=backup.uid, resource_version=version
            )
        return DONE

    async def _clean_up(self, obj: ReadOnlyObject) -> Result:
        """First nobody dumps any more, then the dump goes, then the object may."""
        if DUMP_FINALIZER not in finalizers_of(obj):
            return DONE
        backup = Backup.of(obj)
        if await self._is_job_left(obj, backup):
            return RequeueAfter(LOOK_AGAIN_SECONDS)  # its end wakes us before that; waiting is no failure
        if backup.is_dump_deleted_with_it:
            with contextlib.suppress(NotFound):
                await self._api.delete(CONFIG_MAPS, record_name(backup), SYSTEM_NAMESPACE)
                await self._recorder.event(obj, "Normal", "DumpDeleted", f"deleted {backup.location}")
        await remove_finalizer(self._api, MYSQL_BACKUPS, obj, DUMP_FINALIZER)
        return DONE

    async def _is_job_left(self, obj: ReadOnlyObject, backup: Backup) -> bool:
        """Ask the server: a Job made a moment ago may not be in the cache yet. Deleted, it goes after its pods."""
        try:
            job = await self._api.get(JOBS, job_name(backup), backup.key.namespace)
        except NotFound:
            return False
        if not is_controlled_by(job, obj):
            return False
        if not is_being_deleted(job):
            with contextlib.suppress(NotFound):
                await self._api.delete(
                    JOBS, job_name(backup), backup.key.namespace, propagation_policy="Foreground", uid=uid_of(job)
                )
        return True

    async def _record_dump(self, backup: Backup, completed_at: str) -> None:
        with contextlib.suppress(AlreadyExists):
            await self._api.create(CONFIG_MAPS, record_of(backup, completed_at))

    async def _report(self, obj: Object, found: Standing) -> Object:
        """Write the status where it says something else, and tell people once of each new reason."""
        reported = await self._statuses.patch(obj, *status_of(found, Backup.of(obj)))
        if found.reason != reason_of(obj):
            event_type = "Warning" if found.is_warning else "Normal"
            await self._recorder.event(obj, event_type, found.reason, found.message)
        return reported


def add_to(manager: Manager) -> None:
    reconciler = MySQLBackupReconciler(manager)
    sources = [
        For(reconciler.backups),
        Owns(reconciler.jobs, MYSQL_BACKUPS),
        Watches(reconciler.records, backup_keys),
    ]
    manager.add(Controller(OPERATOR, reconciler, sources, workers=_WORKERS))
