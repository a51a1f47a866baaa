"""The scheduler: takes pods off the queue, decides one after the other, and carries the decisions out.

    scheduling cycle (one pod at a time)                       binding cycle (many at once)
    pop → snapshot → schedule_one → assume → reserve → permit  → wait → pre-bind → bind → post-bind
          └ no node: post-filter, back into the queue            └ refused: forget, back into the queue

The next pod is decided while the bindings of the last ones are on their way: it sees them as assumed.
Nothing is awaited in a scheduling cycle, unless HTTP extenders have a say in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from random import Random
from typing import Any

import structlog

from controllers.scheduler.announcer import Announcer
from controllers.scheduler.backoff import Backoff
from controllers.scheduler.cache import Cache
from controllers.scheduler.diagnosis import Decision, Diagnosis
from controllers.scheduler.event_handlers import EventHandlers
from controllers.scheduler.events import ASSIGNED_POD_DELETE
from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.extenders.deciding import schedule_with_extenders
from controllers.scheduler.failures import TAKE_BACK_PROMISE, Failures, not_bound, refused
from controllers.scheduler.framework import Framework
from controllers.scheduler.hints import QueueingHints
from controllers.scheduler.interface import CycleState, Handle, Lister
from controllers.scheduler.metrics_interface import NO_METRICS, SchedulerMetrics
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.pending_preemptions import PendingPreemptions
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.pod_status import patch_status, status_patch
from controllers.scheduler.pre_binding import PreBinding
from controllers.scheduler.preemption_executor import PreemptionExecutor
from controllers.scheduler.profile import Profile
from controllers.scheduler.queue import SchedulingQueue
from controllers.scheduler.queued_pod import QueuedPod
from controllers.scheduler.schedule import schedule_one
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status, failed, name_of_code
from controllers.scheduler.timed_framework import TimedFramework
from controllers.scheduler.waiting_pods import WaitingPods
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api

log = structlog.get_logger(__name__)

MAX_WRITES = 100  # bindings and status writes under way; full: no pod is taken off the queue until one has ended
FLUSH_BACKOFF_SECONDS = 1.0
FLUSH_UNSCHEDULABLE_SECONDS = 30.0


class Scheduler:
    """`lister` hands out what plugins read, an informer a resource; `pods` lists the pods that have not ended."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: Random,
        profiles: Sequence[Profile] = (Profile(),),
        *,
        lister: Callable[[Resource], Lister],
        pods: Lister,
        announcer: Announcer | None = None,
        metrics: SchedulerMetrics = NO_METRICS,
        backoff: Backoff | None = None,
        extenders: Extenders = NO_EXTENDERS,
    ) -> None:
        self._api, self._clock, self._rng = api, clock, rng
        self._metrics = metrics
        self.announcer = announcer or Announcer(api, clock)
        self.waiting, self.pre_binding = WaitingPods(), PreBinding()
        self.cache = Cache()
        self.snapshot = Snapshot()
        preempting = PendingPreemptions(pods.get)
        nominator = Nominator()
        handle = Handle(
            lister=lister,
            api=api,
            rng=rng,
            preempting=preempting,
            waiting_pods=self.waiting,
            activate=lambda uids: self.queue.activate(uids),
            pause=self._pause,
            now=clock.now,
            tell=self._tell,
        )
        timed = partial(TimedFramework, now=clock.monotonic, observe=metrics.ran)
        make = timed if metrics.times_points else Framework
        self.frameworks = {profile.name: profile.build(handle, nominator, extenders, make) for profile in profiles}
        self._percentages = {profile.name: profile.percentage_of_nodes_to_score for profile in profiles}
        hints = QueueingHints({name: framework.hints for name, framework in self.frameworks.items()})
        first = next(iter(self.frameworks.values()))
        self.queue = SchedulingQueue(clock, hints, first.queue_sort.sort_key, nominator, backoff, metrics.came)
        metrics.follow(self.queue, self.cache)
        self.handlers = EventHandlers(self.cache, self.queue, self.waiting, self.frameworks)
        self._executor = PreemptionExecutor(
            api,
            clock,
            self.announcer,
            nominator,
            self.waiting,
            self.pre_binding,
            preempting,
            self.queue.activate,
            metrics.preempted,
        )
        self._failures = Failures(api, clock, pods, self.queue, self.announcer)
        self._next_start = 0  # where the next search for nodes begins
        self._writes = asyncio.Semaphore(MAX_WRITES)
        self._writing: dict[str, asyncio.Task[None]] = {}  # by the pod's uid, the last of the tasks that write about it

    @property
    def registered_resources(self) -> set[str]:
        """Of whose events some plugin wants to hear."""
        return {
            registered.event.resource
            for framework in self.frameworks.values()
            for events in framework.hints.events.values()
            for registered in events
        }

    async def run(self) -> None:
        """Until cancelled. Informers must have synced."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.announcer.run(), name="scheduler events")
            group.create_task(self._every(FLUSH_BACKOFF_SECONDS, self.queue.flush_backoff), name="backoff")
            group.create_task(
                self._every(FLUSH_UNSCHEDULABLE_SECONDS, self.queue.flush_unschedulable), name="unschedulable pods"
            )
            while True:
                await self._writes.acquire()
                await self.schedule_next(await self.queue.pop(), group)
                await self._clock.sleep(0)  # let bindings and informers go on

    async def _every(self, seconds: float, action: Callable[[], None]) -> None:
        while True:
            await self._clock.sleep(seconds)
            action()

    async def _pause(self, seconds: float) -> None:
        """For a task that holds one of the writes and has nothing to write for a while."""
        self._writes.release()
        try:
            await self._clock.sleep(seconds)
        finally:
            await self._writes.acquire()

    def _tell(self, pod: PodInfo, reason: str, action: str, note: str) -> None:
        self.announcer.tell(pod.scheduler_name, pod.pod, "Normal", reason, action, note)

    # The scheduling cycle -----------------------------------------------------------------------------------------

    async def schedule_next(self, queued: QueuedPod, group: asyncio.TaskGroup) -> None:
        """Decide about one pod, and start what follows. The caller holds one of the `_writes` for it."""
        pod = queued.pod
        framework = self.frameworks[pod.scheduler_name]
        if self._is_to_be_skipped(pod):
            self.queue.done(pod.uid)
            self._writes.release()
            return
        started = self._clock.monotonic()
        self.cache.update(self.snapshot)
        state = CycleState(self.snapshot)
        decision = await self._decide(framework, state, pod)
        self._metrics.decided(self._clock.monotonic() - started)
        if decision.node_name:
            decision = self._take(framework, state, pod, decision)
        work: Coroutine[Any, Any, None] | None
        if decision.node_name:
            work = self._bind(framework, state, queued, decision, started)
        else:
            if decision.nomination is not None:
                self._executor.start(pod, decision.nomination, group)
            self._metrics.attempted(framework.name, decision, self._clock.monotonic() - started)
            work = self._failures.give_back(queued, decision)
        if work is None and not state.follow_ups:
            self._writes.release()
        else:
            before = self._writing.get(pod.uid)
            task = group.create_task(self._write(pod.uid, work, before, state), name=f"after scheduling {pod.key}")
            self._writing[pod.uid] = task

    async def _write(
        self, uid: str, work: Coroutine[Any, Any, None] | None, before: asyncio.Task[None] | None, state: CycleState
    ) -> None:
        """After what was written before: that a pod found no node must not arrive when it has been bound."""
        try:
            if before is not None:
                await asyncio.wait([before])
            await _follow_up(state)
            if work is not None:
                await work
        finally:
            if work is not None:
                work.close()
            self._writes.release()
            if self._writing.get(uid) is asyncio.current_task():
                del self._writing[uid]

    def _is_to_be_skipped(self, pod: PodInfo) -> bool:
        """It is going, or already has a node as far as we are concerned."""
        if pod.is_being_deleted:
            note = f"skip schedule deleting pod: {pod.key}"
            self.announcer.tell(pod.scheduler_name, pod.pod, "Warning", "FailedScheduling", "Scheduling", note)
        return pod.is_being_deleted or self.cache.is_assumed(pod.uid)

    async def _decide(self, framework: Framework, state: CycleState, pod: PodInfo) -> Decision:
        start, percentage = self._next_start, self._percentages[framework.name]
        schedule = schedule_with_extenders if framework.extenders else _at_once
        try:
            decision = await schedule(
                framework, pod, self.snapshot, self._rng, state=state, start=start, percentage=percentage
            )
        except Exception as error:
            return Decision(Diagnosis(), status=_broken(pod, error), nomination=TAKE_BACK_PROMISE)
        if self.snapshot.nodes:
            self._next_start = (start + decision.evaluated_nodes) % len(self.snapshot.nodes)
        return decision

    def _take(self, framework: Framework, state: CycleState, pod: PodInfo, decision: Decision) -> Decision:
        """Assume, reserve and ask for the permit; all of it is undone where one of them refuses."""
        node_name = decision.node_name
        waits: dict[str, float] = {}
        try:
            self.cache.assume_pod(pod, node_name)  # somebody else may have bound it while extenders were asked
            self.queue.nominator.remove(pod.uid)
            status = framework.reserve(state, pod, node_name)
            if status is None:
                status, waits = framework.permit(state, pod, node_name)
        except Exception as error:
            status = _broken(pod, error)
        if status is None:
            if waits:
                self.waiting.hold(pod, waits)
                state["waits"] = True
            return decision
        framework.unreserve(state, pod, node_name)
        self.cache.forget_pod(pod.uid)
        return refused(node_name, status)

    # The binding cycle --------------------------------------------------------------------------------------------

    async def _bind(
        self, framework: Framework, state: CycleState, queued: QueuedPod, decision: Decision, started: float
    ) -> None:
        pod, node_name = queued.pod, decision.node_name
        try:
            failure = await self._carry_out(framework, state, pod, node_name)
        except Exception as error:
            self.waiting.forget(pod.uid)
            failure = not_bound(_broken(pod, error))
        self._metrics.attempted(framework.name, failure or decision, self._clock.monotonic() - started)
        if failure is not None:
            await self._bind_failed(framework, state, queued, node_name, failure)
            return
        log.debug("bound", pod=str(pod.key), node=node_name, evaluated_nodes=decision.evaluated_nodes)
        since_first = self._clock.monotonic() - (queued.initial_attempt or 0.0)
        self._metrics.bound(queued.attempts, since_first, queued.was_flushed)
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        self.announcer.tell(framework.name, pod.pod, "Normal", "Scheduled", "Binding", note)
        await framework.post_bind(state, pod, node_name)

    async def _carry_out(
        self, framework: Framework, state: CycleState, pod: PodInfo, node_name: str
    ) -> Decision | None:
        """None once it is bound. Only up to here the pod may be refused: what fails later is tried again soon."""
        will_pre_bind = framework.will_pre_bind(state, pod, node_name)
        if will_pre_bind or "waits" in state:
            await self._tell_expected_node(pod, node_name)
        if "waits" in state:
            self._writes.release()  # what waits writes nothing: it must not keep others from being bound
            since = self._clock.monotonic()
            status = await self.waiting.wait(pod.uid)
            self._metrics.waited(name_of_code(status), self._clock.monotonic() - since)
            await self._writes.acquire()
            if status is not None:
                return refused(node_name, status)
        self.queue.done(pod.uid)
        status = None
        if will_pre_bind:
            plugins = framework.pre_bind(state, pod, node_name)
            status = await self.pre_binding.run(pod.uid, plugins, lambda: framework.at_work(state))
        if status is None:
            status = await framework.bind(state, pod, node_name)
        return None if status is None else not_bound(status)

    async def _tell_expected_node(self, pod: PodInfo, node_name: str) -> None:
        """Others, as who adds nodes, need not look for a place for it while its binding takes its time."""
        patch = status_patch(pod.pod, None, node_name, "")
        if patch is None:
            return
        try:
            await patch_status(self._api, pod.pod, patch)
        except ApiError as error:
            log.error("cannot tell the expected node of a pod", pod=str(pod.key), error=error.message)

    async def _bind_failed(
        self, framework: Framework, state: CycleState, queued: QueuedPod, node_name: str, failure: Decision
    ) -> None:
        pod = queued.pod
        framework.unreserve(state, pod, node_name)
        await _follow_up(state)
        assumed = self.cache.get_pod(pod.uid)
        if self.cache.forget_pod(pod.uid) and assumed is not None:
            is_refused = failure.status is not None and failure.status.is_rejected
            others_only = (lambda other: other.uid != pod.uid) if is_refused else None
            self.queue.move_all(ASSIGNED_POD_DELETE, assumed.pod, None, others_only)
        report = self._failures.give_back(queued, failure)
        if report is not None:
            await report


async def _at_once(framework: Framework, pod: PodInfo, snapshot: Snapshot, rng: Random, **how: Any) -> Decision:
    """Nobody is waited for."""
    return schedule_one(framework, pod, snapshot, rng, **how)


async def _follow_up(state: CycleState) -> None:
    """What plugins want written besides. One that is broken must not keep the pod from being tried again."""
    for write in state.follow_ups:
        try:
            await write()
        except Exception:
            log.exception("plugin failed", at="follow-up")
    state.follow_ups.clear()


def _broken(pod: PodInfo, error: Exception) -> Status:
    """A plugin is broken: that must cost this pod an attempt, not all pods the scheduler."""
    log.error("plugin failed", pod=str(pod.key), exc_info=error)
    return failed(f"{type(error).__name__}: {error}")
