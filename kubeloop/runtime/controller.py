"""A controller: sources put keys into its queue, workers take them out and reconcile.

Level-triggered: the key says where to look, never what happened. A reconcile ends in one of four ways (result.py);
this is the one place in a loop process that catches every exception, to back off. What a reconcile returns that is none
of them counts as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.client.store import CacheMutated
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.ownership import AdoptionRefused
from kubeloop.runtime.predicates import Predicate
from kubeloop.runtime.rate_limiter import RateLimiter
from kubeloop.runtime.result import (
    DONE,
    Reconciler,
    ReconcileTimeout,
    Requeue,
    RequeueAfter,
    Result,
    TerminalError,
    is_foreseen,
)
from kubeloop.runtime.source import Source
from kubeloop.runtime.workqueue import RateLimitedQueue, ShutDown

if TYPE_CHECKING:
    from kubeloop.runtime.metrics import ControllerMetrics, RuntimeMetrics

# How long a reconcile waits that found no API server.
UNREACHABLE_RETRY_SECONDS = 1.0
# Reconciles that await nothing, one after the other, give way to the rest of the process after this long.
_GIVE_WAY_SECONDS = 0.01

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the manager gives to each controller it runs."""

    clock: Clock
    metrics: RuntimeMetrics | None = None
    after_reconcile: Callable[[], None] | None = None  # the mutation detector's check, in tests


class Controller:
    """`manager.add` prepares it, the manager runs it. `enqueue` may be called at any time after that.

    `workers`: how many keys are reconciled at once. `resync_seconds`: how often its own objects (`For`) are looked at
    again though nothing changed; 0 never. `predicates` hold for all sources. `rate_limiter`: how long a key waits after
    a failure; None is 5 ms, 10 ms, … 1000 s. `timeout_seconds`: how long a reconcile may take; 0 is without end.
    """

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        sources: Sequence[Source] = (),
        workers: int = 1,
        resync_seconds: float = 0,
        *,
        predicates: Sequence[Predicate] = (),
        rate_limiter: RateLimiter | None = None,
        timeout_seconds: float = 0,
    ) -> None:
        self.name, self.reconciler, self.sources = name, reconciler, tuple(sources)
        self._workers, self._resync_seconds = workers, resync_seconds
        self._predicates, self._rate_limiter, self._timeout_seconds = predicates, rate_limiter, timeout_seconds
        self._is_running = False
        self._surroundings: Surroundings | None = None
        self._metrics: ControllerMetrics | None = None
        self._queue: RateLimitedQueue[ObjectKey] | None = None
        self._gave_way_at = 0.0

    def prepare(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        metrics = surroundings.metrics
        queue_metrics = metrics.queue(self.name) if metrics else None
        self._queue = RateLimitedQueue(surroundings.clock, queue_metrics, self._rate_limiter)
        if metrics:
            self._metrics = metrics.controller(self.name, self._workers)
            metrics.follow_running(self.name, self._queue.running_seconds)

    @property
    def queue(self) -> RateLimitedQueue[ObjectKey]:
        if self._queue is None:
            raise RuntimeError(f"controller {self.name} has not been added to a manager")
        return self._queue

    def watch(self, source: Source) -> None:
        """One more source. A controller that runs already hears of it from now on (a kind that came up late)."""
        self.sources = (*self.sources, source)
        if self._is_running:
            self._start(source)

    def enqueue(self, key: ObjectKey, priority: int = 0) -> None:
        """Have `key` reconciled: for events that no source covers."""
        self.queue.add(key, priority)

    def enqueue_after(self, key: ObjectKey, seconds: float, priority: int = 0) -> None:
        self.queue.add_after(key, seconds, priority)

    async def run(self) -> None:
        """Until cancelled."""
        self._is_running = True
        for source in self.sources:
            self._start(source)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.queue.run(), name=f"{self.name}: delayed keys")
            if self._resync_seconds:
                tasks.create_task(self._resync(), name=f"{self.name}: resync")
            for i in range(self._workers):
                tasks.create_task(self._work(), name=f"{self.name}: worker {i}")

    def _start(self, source: Source) -> None:
        source.start(self.queue, self._predicates)
        source.informer.add_relist_handler(self._look_at_all)

    async def _work(self) -> None:
        queue = self.queue
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            if self._metrics is not None:
                self._metrics.began()
            try:
                await self._reconcile(key)
            finally:
                seconds = queue.done(key)
                if self._metrics is not None:
                    self._metrics.took(seconds)
            await self._give_way()

    async def _give_way(self) -> None:
        """Thousands of keys that all fail at once must not keep informers from reading, and others from working."""
        assert self._surroundings is not None
        clock = self._surroundings.clock
        if clock.monotonic() - self._gave_way_at >= _GIVE_WAY_SECONDS:
            await clock.sleep(0)
            self._gave_way_at = clock.monotonic()

    async def _reconcile(self, key: ObjectKey) -> None:
        try:
            result = await (self._within_limit(key) if self._timeout_seconds else self.reconciler.reconcile(key))
            self._check_caches()
            self._follow(key, result)
        except CacheMutated:
            raise  # a bug, and only looked for in tests: end everything
        except TerminalError as error:
            self._failed(error)
            self.queue.forget(key)
            log.error("reconcile failed for good", controller=self.name, key=str(key), error=str(error))
        except ConnectionFailed as error:
            # Says nothing about the object: asked again soon, and a backoff it has earned does not grow.
            self._failed(error)
            self._log_retry(key, error)
            self.queue.add_after(key, UNREACHABLE_RETRY_SECONDS, self.queue.priority_of(key))
        except Exception as error:
            self._failed(error)
            self._log_retry(key, error)
            self.queue.add_rate_limited(key, self.queue.priority_of(key))
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            # A task that the reconcile waited for. Taken for this worker's own end, it would end it without a word.
            stray = RuntimeError("reconcile waited for something that was cancelled")
            stray.__cause__ = error
            self._failed(stray)
            self._log_retry(key, stray)
            self.queue.add_rate_limited(key, self.queue.priority_of(key))

    async def _within_limit(self, key: ObjectKey) -> Result:
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                return await self.reconciler.reconcile(key)
        except TimeoutError as error:
            if not limit.expired():
                raise  # the reconciler's own
            raise ReconcileTimeout(f"reconcile took more than {self._timeout_seconds:g} seconds") from error

    def _follow(self, key: ObjectKey, result: Result) -> None:
        if result is DONE:
            self.queue.forget(key)
            ending = "success"
        elif isinstance(result, RequeueAfter):
            self.queue.add_after(key, result.seconds, self._next_priority(key, result))
            self.queue.forget(key)
            ending = "requeue_after"
        elif isinstance(result, Requeue):
            self.queue.add_rate_limited(key, self._next_priority(key, result))
            ending = "requeue"
        else:
            raise TypeError(f"controller {self.name}: reconcile returned {result!r}: DONE, RequeueAfter or REQUEUE")
        if self._metrics is not None:
            self._metrics.succeeded(ending)

    def _next_priority(self, key: ObjectKey, result: RequeueAfter | Requeue) -> int:
        return self.queue.priority_of(key) if result.priority is None else result.priority

    async def _resync(self) -> None:
        assert self._surroundings is not None
        while True:
            await self._surroundings.clock.sleep(self._resync_seconds)
            self._look_at_all()

    def _look_at_all(self) -> None:
        """Periodically, and when an informer had to list anew: what happened meanwhile may be in no event."""
        for source in self.sources:
            source.resync(self.queue)

    def _log_retry(self, key: ObjectKey, error: Exception) -> None:
        """Stale caches are everyday (someone else wrote, the owner is gone), refusals a line, bugs a traceback."""
        if isinstance(error, Conflict | AdoptionRefused):
            log.debug("stale, retrying", controller=self.name, key=str(key), error=str(error))
        elif is_foreseen(error):
            log.warning("reconcile failed, retrying", controller=self.name, key=str(key), error=str(error))
        else:
            log.error("reconcile failed, retrying", controller=self.name, key=str(key), exc_info=error)

    def _failed(self, error: Exception) -> None:
        if self._metrics is not None:
            self._metrics.failed(error)

    def _check_caches(self) -> None:
        if self._surroundings and self._surroundings.after_reconcile:
            self._surroundings.after_reconcile()


def _is_cancelled() -> bool:
    """Whether somebody asked this very task to end."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
