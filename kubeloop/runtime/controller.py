"""A controller: sources put keys into its queue, workers take them out and reconcile.

Level-triggered: the key says where to look, never what happened. A reconcile ends in one of four ways (result.py);
this is the one place in a loop process that catches every exception, to back off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Conflict
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.client.store import CacheMutated
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.ownership import AdoptionRefused
from kubeloop.runtime.queue_metrics import NO_QUEUE_METRICS
from kubeloop.runtime.result import DONE, Reconciler, RequeueAfter, Result, TerminalError, Unfinished
from kubeloop.runtime.source import Source
from kubeloop.runtime.workqueue import RateLimitedQueue, ShutDown

if TYPE_CHECKING:
    from kubeloop.runtime.metrics import RuntimeMetrics

# How long a reconcile waits that found no API server.
UNREACHABLE_RETRY_SECONDS = 1.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the manager gives to each controller it runs."""

    clock: Clock
    metrics: RuntimeMetrics | None = None
    after_reconcile: Callable[[], None] | None = None  # the mutation detector's check, in tests


class Controller:
    """`manager.add` prepares it, the manager runs it. `enqueue` may be called at any time after that."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        sources: Sequence[Source] = (),
        workers: int = 1,
        resync_seconds: float = 0,
    ) -> None:
        self.name, self.reconciler, self.sources = name, reconciler, tuple(sources)
        self._workers, self._resync_seconds = workers, resync_seconds
        self._surroundings: Surroundings | None = None
        self._queue: RateLimitedQueue[ObjectKey] | None = None

    def prepare(self, surroundings: Surroundings) -> None:
        metrics = surroundings.metrics
        self._surroundings = surroundings
        self._queue = RateLimitedQueue(surroundings.clock, metrics.queue(self.name) if metrics else NO_QUEUE_METRICS)

    @property
    def queue(self) -> RateLimitedQueue[ObjectKey]:
        if self._queue is None:
            raise RuntimeError(f"controller {self.name} has not been added to a manager")
        return self._queue

    def enqueue(self, key: ObjectKey) -> None:
        """Have `key` reconciled: for events that no source covers."""
        self.queue.add(key)

    def enqueue_after(self, key: ObjectKey, seconds: float) -> None:
        self.queue.add_after(key, seconds)

    async def run(self) -> None:
        """Until cancelled."""
        for source in self.sources:
            source.start(self.queue.add)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.queue.run(), name=f"{self.name}: delayed keys")
            if self._resync_seconds:
                tasks.create_task(self._resync(), name=f"{self.name}: resync")
            for i in range(self._workers):
                tasks.create_task(self._work(), name=f"{self.name}: worker {i}")

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._reconcile(key)
            finally:
                self.queue.done(key)

    async def _reconcile(self, key: ObjectKey) -> None:
        try:
            result = await self.reconciler.reconcile(key)
            self._check_caches()
        except CacheMutated:
            raise  # a bug, and only looked for in tests: end everything
        except TerminalError as error:
            self._count("terminal_error")
            self.queue.forget(key)
            log.error("reconcile failed for good", controller=self.name, key=str(key), error=str(error))
        except ConnectionFailed as error:
            # Says nothing about the object: asked again soon, and a backoff it has earned does not grow.
            self._count("error")
            self._log_retry(key, error)
            self.queue.add_after(key, UNREACHABLE_RETRY_SECONDS)
        except Exception as error:
            self._count("error")
            self._log_retry(key, error)
            self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)
            self._follow(key, result)

    def _follow(self, key: ObjectKey, result: Result) -> None:
        if isinstance(result, RequeueAfter):
            self._count("requeue_after")
            self.queue.add_after(key, result.seconds)
            return
        if result is not DONE:
            raise TypeError(f"controller {self.name}: reconcile returned {result!r}, neither DONE nor RequeueAfter")
        self._count("success")

    async def _resync(self) -> None:
        assert self._surroundings is not None
        while True:
            await self._surroundings.clock.sleep(self._resync_seconds)
            for source in self.sources:
                source.resync(self.queue.add)

    def _log_retry(self, key: ObjectKey, error: Exception) -> None:
        """Stale caches are everyday (someone else wrote, the owner is gone), refusals a line, bugs a traceback."""
        if isinstance(error, Conflict | AdoptionRefused):
            log.debug("stale, retrying", controller=self.name, key=str(key), error=str(error))
        elif isinstance(error, ApiError | Unfinished):
            log.warning("reconcile failed, retrying", controller=self.name, key=str(key), error=str(error))
        else:
            log.error("reconcile failed, retrying", controller=self.name, key=str(key), exc_info=error)

    def _count(self, result: str) -> None:
        if self._surroundings and self._surroundings.metrics:
            self._surroundings.metrics.reconciles.labels(self.name, result).inc()

    def _check_caches(self) -> None:
        if self._surroundings and self._surroundings.after_reconcile:
            self._surroundings.after_reconcile()
