"""One reconcile of a CronJob: clean up old Jobs, see what became of the active ones, start the one that is due.

syncCronJob of pkg/controller/cronjob, v1.36. A Job that was started while its entry in the status got lost is found
again by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from controllers import children
from controllers.cron_job import active
from controllers.cron_job.plan import Plan, job_for, plan, with_started
from controllers.cron_job.timing import UnknownZone, timing_of
from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.cron import ScheduleError
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    is_controlled_by,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import CRON_JOBS, JOBS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder, reference_to
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import Owns

log = structlog.get_logger(__name__)


def add_to(manager: Manager) -> None:
    cron_jobs, jobs = manager.informer(CRON_JOBS), children.index(manager.informer(JOBS))
    recorder = manager.event_recorder("cronjob-controller")
    reconciler = CronJobReconciler(manager.api, manager.clock, cron_jobs, jobs, recorder)
    controller = Controller("cronjob", reconciler, [Owns(jobs, CRON_JOBS)], workers=5)
    manager.add(controller)

    def on_change(delta: Delta) -> None:
        """A new schedule counts from its next time on; times it would have had before are not made up for."""
        wait = seconds_to_new_schedule(delta, manager.clock.now())
        controller.enqueue_after(key_of(delta.obj), wait)

    cron_jobs.add_handler(on_change)


def seconds_to_new_schedule(delta: Delta, now: datetime) -> float:
    """0 where the schedule is what it was."""
    if delta.old is None or delta.new is None or _when(delta.old) == _when(delta.new):
        return 0.0
    try:
        return timing_of(delta.new).seconds_to_next(now) or 0.0
    except (ScheduleError, UnknownZone):
        return 0.0  # the reconcile says what is wrong with it


def _when(cron_job: ReadOnlyObject) -> tuple[str, str | None]:
    return cron_job["spec"]["schedule"], cron_job["spec"].get("timeZone")


class CronJobReconciler:
    def __init__(self, api: Api, clock: Clock, cron_jobs: Informer, jobs: Informer, recorder: EventRecorder) -> None:
        self._api, self._clock, self._recorder = api, clock, recorder
        self._cron_jobs, self._jobs = cron_jobs, jobs
        self._own_writes = OwnWrites()

    async def reconcile(self, key: ObjectKey) -> Result:
        cron_job = self._cron_jobs.get(key)
        if cron_job is None:
            self._own_writes.forget(key)
            return DONE  # the garbage collector owns its Jobs
        cron_job, now = self._own_writes.latest(cron_job), self._clock.now()
        jobs = children.owned_by(self._jobs, uid_of(cron_job))
        cron_job = await self._with_strangers(cron_job, jobs)
        status = await self._clean_up(cron_job, jobs)
        status = await self._review(cron_job, status, jobs)
        decided = plan(cron_job, status, now)
        for event in decided.events:
            await self._recorder.event(cron_job, event.event_type, event.reason, event.message)
        try:
            status = await self._replace(cron_job, status, decided)
            status = await self._start(cron_job, status, decided)
        except ApiError:
            await self._write_status(cron_job, status)
            raise
        await self._write_status(cron_job, status)
        return _next_look(decided, now)

    async def _with_strangers(self, cron_job: Object, jobs: Sequence[Object]) -> Object:
        """A running Job that is not in the list: the cache may be behind, or somebody else has made it."""
        if not active.strangers(cron_job.get("status") or {}, jobs):
            return cron_job
        fresh = await self._api.get(CRON_JOBS, name_of(cron_job), namespace_of(cron_job))
        if uid_of(fresh) != uid_of(cron_job):
            raise NotFound.of(CRON_JOBS.plural, CRON_JOBS.group, name_of(cron_job))
        for job in active.strangers(fresh.get("status") or {}, jobs):
            message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
            await self._recorder.event(fresh, "Warning", "UnexpectedJob", message)
        return fresh

    async def _clean_up(self, cron_job: Object, jobs: Sequence[Object]) -> Object:
        """The status without the Jobs that the history limits have had deleted."""
        deleted = [job for job in active.superfluous(cron_job, jobs) if await self._delete(cron_job, job)]
        status = cron_job.get("status") or {}
        return active.without_active(status, map(uid_of, deleted)) if deleted else {**status}

    async def _review(self, cron_job: Object, status: Object, jobs: Sequence[Object]) -> Object:
        """The status without the active Jobs that have ended or gone."""
        ended = active.seen_ending(status, jobs)
        for job in ended:
            message = f"Saw completed job: {name_of(job)}, condition: {active.end_of(job)}"
            await self._recorder.event(cron_job, "Normal", "SawCompletedJob", message)
        status = active.without_active(active.with_last_success(status, jobs), map(uid_of, ended))
        known = {uid_of(job) for job in jobs}
        unseen = [ref for ref in active.active_of(status) if ref.get("uid") not in known]
        missing = [ref for ref in unseen if not await self._exists(cron_job, ref)]
        for reference in missing:
            message = f"Active job went missing: {reference.get('name')}"
            await self._recorder.event(cron_job, "Normal", "MissingJob", message)
        return active.without_active(status, [reference["uid"] for reference in missing])

    async def _exists(self, cron_job: Object, reference: ReadOnlyObject) -> bool:
        """The cache may be behind: a Job just started is not in it."""
        try:
            await self._api.get(JOBS, reference.get("name", ""), reference.get("namespace") or namespace_of(cron_job))
        except NotFound:
            return False
        return True

    async def _replace(self, cron_job: Object, status: Object, decided: Plan) -> Object:
        """The status without the Jobs that had to make way."""
        for reference in decided.replace:
            try:
                job = await self._api.get(JOBS, reference.get("name", ""), namespace_of(cron_job))
            except ApiError as error:
                await self._recorder.event(cron_job, "Warning", "FailedGet", f"Get job: {error}")
                raise
            if not await self._delete(cron_job, job):
                raise ApiError(f"could not replace job {key_of(job)}")
            status = active.without_active(status, [uid_of(job)])
        return status

    async def _start(self, cron_job: Object, status: Object, decided: Plan) -> Object:
        """The status with the Job that is due, started now or found to have been."""
        if decided.start is None:
            return status
        try:
            job = await self._create(cron_job, decided.start)
        except AlreadyExists:
            name = name_of(job_for(cron_job, decided.start))
            job = await self._api.get(JOBS, name, namespace_of(cron_job))
            if not is_controlled_by(job, cron_job) or active.has_active(status, uid_of(job)):
                return status
        return with_started(status, reference_to(job), decided.start)

    async def _create(self, cron_job: Object, scheduled: datetime) -> Object:
        try:
            job = await self._api.create(JOBS, job_for(cron_job, scheduled))
        except AlreadyExists:
            raise
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._recorder.event(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        log.info("job started", cron_job=str(key_of(cron_job)), job=name_of(job))
        await self._recorder.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        return job

    async def _delete(self, cron_job: Object, job: Object) -> bool:
        """Whether it is gone; its pods go with it."""
        try:
            await self._api.delete(JOBS, name_of(job), namespace_of(job), propagation_policy="Background")
        except NotFound:
            return True  # deleted before, the cache is behind
        except ApiError as error:
            await self._recorder.event(cron_job, "Warning", "FailedDelete", f"Deleted job: {error}")
            return False
        await self._recorder.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name_of(job)}")
        return True

    async def _write_status(self, cron_job: Object, status: Object) -> None:
        kept = {field: value for field, value in status.items() if value}
        if kept == (cron_job.get("status") or {}):
            return
        try:
            written = await self._api.update(CRON_JOBS, {**cron_job, "status": kept}, subresource="status")
        except NotFound:
            return  # deleted meanwhile
        self._own_writes.wrote(cron_job, written)


def _next_look(decided: Plan, now: datetime) -> Result:
    """A moment after the next time that has not come; a time just started for counts from now on."""
    if decided.timing is None:
        return DONE
    timing = decided.timing if decided.start is None else replace(decided.timing, since=decided.start)
    wait = timing.seconds_to_next(now)
    return DONE if wait is None else RequeueAfter(max(wait, 0.0))
