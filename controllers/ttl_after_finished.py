"""ttl-after-finished-controller: Jobs go once they have been finished for spec.ttlSecondsAfterFinished.

The time may have been changed a moment ago, so a Job is read anew before it is deleted, its pods with it
(pkg/controller/ttlafterfinished, v1.36).
"""

from __future__ import annotations

from datetime import datetime

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, is_being_deleted, uid_of
from kubeloop.apimachinery.resource import JOBS
from kubeloop.apimachinery.times import seconds_since
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For

log = structlog.get_logger(__name__)


def add_to(manager: Manager) -> None:
    jobs = manager.informer(JOBS)
    reconciler = TtlReconciler(manager.api, manager.clock, jobs)
    manager.add(Controller("ttl_jobs_to_delete", reconciler, [For(jobs)], workers=5))


class TtlReconciler:
    def __init__(self, api: Api, clock: Clock, jobs: Informer) -> None:
        self._api, self._clock, self._jobs = api, clock, jobs

    async def reconcile(self, key: ObjectKey) -> Result:
        job = self._jobs.get(key)
        left = seconds_left(job, self._clock.now()) if job is not None else None
        try:
            if left is not None and left <= 0:
                fresh = await self._api.get(JOBS, key.name, key.namespace)
                left = await self._delete_if_due(fresh, key)
        except NotFound:
            return DONE
        return DONE if left is None else RequeueAfter(left)

    async def _delete_if_due(self, job: ReadOnlyObject, key: ObjectKey) -> float | None:
        left = seconds_left(job, self._clock.now())
        if left is None or left > 0:
            return left
        await self._api.delete(JOBS, key.name, key.namespace, propagation_policy="Foreground", uid=uid_of(job))
        log.info("finished job deleted", job=str(key))
        return None


def seconds_left(job: ReadOnlyObject, now: datetime) -> float | None:
    """How long the Job may stay yet; None for one without a limit, not finished or going already."""
    limit, finished = job["spec"].get("ttlSecondsAfterFinished"), _finished_at(job)
    if limit is None or finished is None or is_being_deleted(job):
        return None
    return float(limit) - seconds_since(finished, now)


def _finished_at(job: ReadOnlyObject) -> str | None:
    ends = (c for c in conditions_of(job) if c.get("type") in ("Complete", "Failed") and c.get("status") == "True")
    return next((c.get("lastTransitionTime") for c in ends), None)
