"""One reconcile of a Job: claim its pods, plan, carry the plan out, count what has ended, tell the status.

Stale caches are tolerated: pods it created or deleted must have shown up before it acts again, pods it has counted are
not counted twice, and its own status writes are known before the cache has them. syncJob of pkg/controller/job, v1.36.
"""

from __future__ import annotations

import structlog

from controllers import children
from controllers.job import conditions, counting, ending
from controllers.job.backoff import Failures
from controllers.job.counting import Count
from controllers.job.model import TRACKING_FINALIZER, JobView, is_ours
from controllers.job.plan import Conclusion, Outcome, Plan, conclude, plan
from controllers.job.pod_requests import PodRequests
from controllers.job.released import Released
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, uid_of
from kubeloop.apimachinery.resource import JOBS, PODS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import EXPIRY_SECONDS, Expectations
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children
from kubeloop.runtime.result import DONE, RequeueAfter, Result

log = structlog.get_logger(__name__)


class JobReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        jobs: Informer,
        pods: Informer,
        expectations: Expectations,
        released: Released,
        requests: PodRequests,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._clock, self._recorder = api, clock, recorder
        self._jobs, self._pods = jobs, pods
        self._expectations, self._released, self._requests = expectations, released, requests
        self._own_writes = OwnWrites()
        self._failures: dict[ObjectKey, Failures] = {}  # of unfinished Jobs only

    async def reconcile(self, key: ObjectKey) -> Result:
        job = self._jobs.get(key)
        if job is None:
            self._forget(key)
            return DONE  # the garbage collector owns its pods
        job = self._own_writes.latest(job)
        if not is_ours(job) or conditions.finished(job):
            self._failures.pop(key, None)
            return DONE
        has_seen_its_writes = self._expectations.satisfied(key)
        view = JobView(job, await self._claim(job), self._released.uids, self._clock.now())
        failures = self._failures.get(key, Failures()).after(view.newly_succeeded, view.newly_failed)
        decided = plan(view, failures, has_seen_its_writes)
        outcome = await self._carry_out(view, decided)
        concluded = conclude(view, decided, outcome, has_seen_its_writes)
        await self._tell(view, concluded, counting.count(view, concluded), failures)
        result = _next_look(view, decided, outcome)
        if result is DONE and not has_seen_its_writes:
            return RequeueAfter(EXPIRY_SECONDS + 1)  # what is awaited wakes it sooner, unless it was missed
        return result

    def _forget(self, key: ObjectKey) -> None:
        self._expectations.forget(key)
        self._own_writes.forget(key)
        self._failures.pop(key, None)

    async def _claim(self, job: Object) -> list[Object]:
        candidates = children.candidates(self._pods, job)
        selector = selectors.from_label_selector(job["spec"].get("selector"))
        return await claim_children(self._api, job, JOBS, selector, candidates, PODS, TRACKING_FINALIZER)

    async def _carry_out(self, job: JobView, decided: Plan) -> Outcome:
        if decided.verdict is not None:
            return await self._requests.end(job.obj, job.active)
        if decided.scaling is not None and decided.scaling.delete:
            log.info("too many pods", job=str(key_of(job.obj)), deleting=len(decided.scaling.delete))
            return await self._requests.delete(job.obj, decided.scaling.delete)
        if decided.scaling is not None and decided.scaling.create:
            log.info("too few pods", job=str(key_of(job.obj)), creating=len(decided.scaling.create))
            return await self._requests.create(job.obj, decided.scaling.create)
        return Outcome()

    async def _tell(self, job: JobView, concluded: Conclusion, count: Count, failures: Failures) -> None:
        """The three steps of counting: note, release, count; and with the last pod the end of the Job."""
        try:
            noted = await self._write_status(job.obj, count.status)
            if noted is not job.obj:
                self._failures[key_of(job.obj)] = failures
            if concluded.event is not None:
                await self._recorder.event(noted, "Normal", *concluded.event)
            released, error = await self._requests.release(count.release)
            tracked = {uid_of(pod) for pod in job.pods if job.is_uncounted(pod)} - released
            status = counting.without_released(noted["status"], tracked)
            if error is not None:
                await self._write_status(noted, status)
                raise error
            await self._end(noted, status, count.final, concluded.terminating)
        except NotFound:
            return  # deleted meanwhile

    async def _end(self, job: ReadOnlyObject, status: Object, final: Object | None, terminating: int) -> None:
        if final is None or not counting.may_end(status, terminating):
            await self._write_status(job, status)
            return
        ended = await self._write_status(job, counting.ended(status, final))
        log.info("job ended", job=str(key_of(ended)), condition=final["type"], reason=final["reason"])
        for event_type, reason, message in _last_words(ended, final):
            await self._recorder.event(ended, event_type, reason, message)

    async def _write_status(self, job: ReadOnlyObject, status: Object) -> ReadOnlyObject:
        """The Job as it is then; `job` itself where it says so already. A Conflict has it planned anew."""
        status = counting.without_zeros(status)
        if status == counting.without_zeros(job.get("status") or {}):
            return job
        written = await self._api.update(JOBS, {**job, "status": status}, subresource="status")
        self._own_writes.wrote(job, written)
        return written


def _last_words(job: ReadOnlyObject, final: ReadOnlyObject) -> list[tuple[str, str, str]]:
    if final["type"] == conditions.FAILED:
        return [("Warning", final["reason"], final["message"])]
    words = [("Normal", "Completed", "Job completed")]
    completions = job["spec"].get("completions")
    if completions is not None and (job["status"].get("succeeded") or 0) > completions:
        message = "Too many succeeded pods running after completion count reached"
        words.insert(0, ("Warning", "TooManySucceededPods", message))
    return words


def _next_look(job: JobView, decided: Plan, outcome: Outcome) -> Result:
    """When a back-off or the deadline is over; a failed request is tried again."""
    if outcome.error is not None:
        raise outcome.error
    if decided.verdict is not None:
        return DONE
    waits = [ending.seconds_to_deadline(job), decided.scaling.wait_seconds if decided.scaling else None]
    due = [wait for wait in waits if wait is not None]
    return RequeueAfter(min(due)) if due else DONE
