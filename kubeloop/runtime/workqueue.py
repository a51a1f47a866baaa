"""The queue between events and workers, in three layers: distinct keys, keys in the future, keys that failed.

All three hold each key at most once, so the number of distinct keys bounds them; none of them is ever "full".
Semantics of client-go's util/workqueue (v1.36).
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from kubeloop.apimachinery.clock import Clock
from kubeloop.runtime.queue_metrics import NO_QUEUE_METRICS, QueueMetrics

Key = TypeVar("Key", bound=Hashable)

FIRST_BACKOFF_SECONDS = 0.005
MAX_BACKOFF_SECONDS = 1000.0


class ShutDown(Exception):
    """The queue was shut down: this worker is to end."""


class Queue(Generic[Key]):
    """Distinct keys in the order they came; a key is never with two workers at once."""

    def __init__(self, clock: Clock, metrics: QueueMetrics = NO_QUEUE_METRICS) -> None:
        self._clock, self._metrics = clock, metrics
        # A key waits in _order only if it is in _dirty and not in _running: so a key added while a worker holds it
        # runs once more afterwards, and never twice at once.
        self._order: deque[Key] = deque()
        self._dirty: dict[Key, float] = {}  # when each was added
        self._running: dict[Key, float] = {}  # when each was handed to a worker
        self._waiting_workers: deque[asyncio.Future[None]] = deque()
        self._nothing_runs: asyncio.Event | None = None
        self._is_shut_down = False

    def __len__(self) -> int:
        return len(self._order)

    @property
    def is_idle(self) -> bool:
        """Nothing waits and no worker holds a key."""
        return not self._dirty and not self._running

    def add(self, key: Key) -> None:
        if self._is_shut_down or key in self._dirty:
            return
        self._dirty[key] = self._clock.monotonic()
        self._metrics.added()
        if key not in self._running:
            self._append(key)

    async def get(self) -> Key:
        """The next key, now this worker's until `done`. Raises ShutDown once the queue is shut down."""
        while not self._order:
            if self._is_shut_down:
                raise ShutDown
            await self._wait_for_work()
        key = self._order.popleft()
        now = self._clock.monotonic()
        self._metrics.started(len(self._order), now - self._dirty.pop(key))
        self._running[key] = now
        return key

    def done(self, key: Key) -> None:
        """Every key from `get` must be given back, whatever came of it."""
        began = self._running.pop(key)
        self._metrics.finished(self._clock.monotonic() - began)
        if key in self._dirty:
            self._append(key)
        if not self._running and self._nothing_runs is not None:
            self._nothing_runs.set()

    def shut_down(self) -> None:
        """Take nothing more and hand out nothing more: a loop that starts again finds what waited here."""
        self._is_shut_down = True
        self._order.clear()
        self._dirty.clear()
        while self._waiting_workers:
            _wake(self._waiting_workers.popleft())

    async def wait_until_nothing_runs(self) -> None:
        """Until every worker has given its key back."""
        if self._running:
            self._nothing_runs = asyncio.Event()
            await self._nothing_runs.wait()

    def _append(self, key: Key) -> None:
        self._order.append(key)
        self._metrics.depth(len(self._order))
        while self._waiting_workers:
            if _wake(self._waiting_workers.popleft()):
                break

    async def _wait_for_work(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting_workers.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # Woken and cancelled in one turn of the loop: pass the wake-up on, or a key would lie unseen.
            if waiter.done() and not waiter.cancelled() and self._waiting_workers:
                _wake(self._waiting_workers.popleft())
            raise


class DelayingQueue(Queue[Key]):
    """Adds `add_after`. `run` must be running for delayed keys to arrive."""

    def __init__(self, clock: Clock, metrics: QueueMetrics = NO_QUEUE_METRICS) -> None:
        super().__init__(clock, metrics)
        # _due says when each delayed key is due; a heap entry that disagrees with it is out of date and skipped.
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._sequence = 0
        self._alarm: asyncio.Future[None] | None = None  # what `run` waits for; done or cancelled: look at the heap
        self._alarm_at = float("inf")

    def add_after(self, key: Key, seconds: float) -> None:
        """Add `key` in `seconds`; of two delays of one key the earlier counts."""
        if self._is_shut_down:
            return
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, key))
        if due < self._alarm_at and self._alarm is not None:
            self._alarm.cancel()

    async def run(self) -> None:
        """Move keys over as they fall due, until cancelled."""
        while True:
            self._move_due_keys()
            loop = asyncio.get_running_loop()
            if self._heap:
                self._alarm_at = self._heap[0][0]
                self._alarm = asyncio.ensure_future(self._clock.sleep(self._alarm_at - self._clock.monotonic()))
            else:
                self._alarm_at = float("inf")
                self._alarm = loop.create_future()
            try:
                await asyncio.wait([self._alarm])
            finally:
                self._alarm.cancel()

    def _move_due_keys(self) -> None:
        now = self._clock.monotonic()
        while self._heap and (self._heap[0][0] <= now or self._is_outdated(self._heap[0])):
            entry = heapq.heappop(self._heap)
            if not self._is_outdated(entry):
                del self._due[entry[2]]
                self.add(entry[2])

    def _is_outdated(self, entry: tuple[float, int, Key]) -> bool:
        return self._due.get(entry[2]) != entry[0]


class RateLimitedQueue(DelayingQueue[Key]):
    """Adds a backoff for each key: 5 ms, doubled with every failure, 1000 s at most."""

    def __init__(self, clock: Clock, metrics: QueueMetrics = NO_QUEUE_METRICS) -> None:
        super().__init__(clock, metrics)
        self._failures: dict[Key, int] = {}

    def add_rate_limited(self, key: Key) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._metrics.retried()
        self.add_after(key, min(FIRST_BACKOFF_SECONDS * 2 ** min(failures, 60), MAX_BACKOFF_SECONDS))

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure starts at 5 ms again."""
        self._failures.pop(key, None)

    def failures(self, key: Key) -> int:
        return self._failures.get(key, 0)


def _wake(waiter: asyncio.Future[None]) -> bool:
    if waiter.done():
        return False
    waiter.set_result(None)
    return True
