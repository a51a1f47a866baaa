"""The queue between events and workers, in three layers: distinct keys, keys in the future, keys that failed.

All three hold each key at most once, so the number of distinct keys bounds them; none of them is ever "full".
Semantics of client-go's util/workqueue (v1.36), and of controller-runtime's priority queue: of what waits, the highest
priority comes first, and of one priority what came first. Nearly all keys have priority 0, which costs them nothing.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kubeloop.apimachinery.clock import Clock
from kubeloop.runtime.queue_metrics import QueueMetrics
from kubeloop.runtime.rate_limiter import ExponentialBackoff, RateLimiter

Key = TypeVar("Key", bound=Hashable)

# Of what is looked at again though nobody changed it: the objects there at the start, and a resync.
LOW_PRIORITY = -100
# The heap of delayed keys may hold this many entries more than twice its keys before the outdated ones are cleared.
_HEAP_SLACK = 64


class ShutDown(Exception):
    """The queue was shut down: this worker is to end."""


class Queue(Generic[Key]):
    """Distinct keys, highest priority first; a key is never with two workers at once."""

    def __init__(self, clock: Clock, metrics: QueueMetrics | None = None) -> None:
        self._clock, self._metrics = clock, metrics
        # A key waits in _order or in one of _others only if it is in _dirty and not in _running: so a key added while
        # a worker holds it runs once more afterwards, and never twice at once.
        self._order: deque[Key] = deque()  # those of priority 0
        self._others: dict[int, OrderedDict[Key, None]] = {}  # by priority; no empty ones
        self._dirty: dict[Key, float] = {}  # when each was added
        self._running: dict[Key, float] = {}  # when each was handed to a worker
        self._priorities: dict[Key, int] = {}  # of the dirty keys, where it is not 0
        self._running_priorities: dict[Key, int] = {}  # of the running keys, where it is not 0
        self._waiting_workers: deque[asyncio.Future[None]] = deque()
        self._nothing_runs: asyncio.Event | None = None
        self._is_shut_down = False

    def __len__(self) -> int:
        return len(self._order) + sum(len(waiting) for waiting in self._others.values())

    @property
    def is_idle(self) -> bool:
        """Nothing waits and no worker holds a key."""
        return not self._dirty and not self._running

    def add(self, key: Key, priority: int = 0) -> None:
        """Of several additions of a key that waits, the highest priority counts."""
        if self._is_shut_down:
            return
        if key in self._dirty:
            if priority > 0 or self._priorities:
                self._raise_priority(key, priority)
            return
        self._dirty[key] = self._clock.monotonic()
        if priority:
            self._priorities[key] = priority
        if self._metrics is not None:
            self._metrics.added()
        if key not in self._running:
            self._append(key)

    async def get(self) -> Key:
        """The next key, now this worker's until `done`. Raises ShutDown once the queue is shut down."""
        while not self._order and not self._others:
            if self._is_shut_down:
                raise ShutDown
            await self._wait_for_work()
        key = self._take() if self._others else self._order.popleft()
        now = self._clock.monotonic()
        added = self._dirty.pop(key)
        if self._metrics is not None:
            self._metrics.started(len(self), now - added)
        self._running[key] = now
        return key

    def done(self, key: Key) -> float:
        """Every key from `get` must be given back, whatever came of it. For how many seconds it was away."""
        seconds = self._clock.monotonic() - self._running.pop(key)
        if self._metrics is not None:
            self._metrics.finished(seconds)
        if self._running_priorities:
            self._running_priorities.pop(key, None)
        if key in self._dirty:
            self._append(key)
        if not self._running and self._nothing_runs is not None:
            self._nothing_runs.set()
        return seconds

    def priority_of(self, key: Key) -> int:
        """The priority with which a worker got the key it holds: a retry keeps it."""
        return self._running_priorities.get(key, 0)

    def running_seconds(self) -> list[float]:
        """For how long each key that a worker holds has been worked on."""
        now = self._clock.monotonic()
        return [now - began for began in self._running.values()]

    def shut_down(self) -> None:
        """Take nothing more and hand out nothing more: a loop that starts again finds what waited here."""
        self._is_shut_down = True
        for waiting in (self._order, self._others, self._dirty, self._priorities):
            waiting.clear()
        while self._waiting_workers:
            _wake(self._waiting_workers.popleft())

    async def wait_until_nothing_runs(self) -> None:
        """Until every worker has given its key back."""
        if self._running:
            self._nothing_runs = asyncio.Event()
            await self._nothing_runs.wait()

    def _append(self, key: Key) -> None:
        if self._priorities:
            self._insert(key, self._priorities.get(key, 0))
        else:
            self._order.append(key)
        if self._metrics is not None:
            self._metrics.depth(len(self))
        while self._waiting_workers:
            if _wake(self._waiting_workers.popleft()):
                break

    def _insert(self, key: Key, priority: int) -> None:
        if priority:
            self._others.setdefault(priority, OrderedDict())[key] = None
        else:
            self._order.append(key)

    def _take(self) -> Key:
        """The first of the highest priority, where there is more than one."""
        highest = max(self._others)
        if self._order and highest < 0:
            return self._order.popleft()
        key = next(iter(self._others[highest]))
        self._withdraw(key, highest)
        self._running_priorities[key] = self._priorities.pop(key)
        return key

    def _withdraw(self, key: Key, priority: int) -> None:
        if not priority:
            self._order.remove(key)  # looks through all that wait: raising above 0 is rare
            return
        del self._others[priority][key]
        if not self._others[priority]:
            del self._others[priority]

    def _raise_priority(self, key: Key, priority: int) -> None:
        before = self._priorities.pop(key, 0)
        if priority := max(before, priority):
            self._priorities[key] = priority
        if priority > before and key not in self._running:
            self._withdraw(key, before)
            self._insert(key, priority)

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

    def __init__(self, clock: Clock, metrics: QueueMetrics | None = None) -> None:
        super().__init__(clock, metrics)
        # When each delayed key is due, and its priority; a heap entry that disagrees is out of date and skipped.
        self._due: dict[Key, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._sequence = 0
        self._alarm: asyncio.Future[None] | None = None  # what `run` waits for; done or cancelled: look at the heap
        self._alarm_at = float("inf")

    def add_after(self, key: Key, seconds: float, priority: int = 0) -> None:
        """Add `key` in `seconds`; of two delays of one key the earlier counts, and the higher priority.

        ValueError for what is no number, which would stop the clock for all other keys.
        """
        if seconds != seconds:
            raise ValueError(f"{key}: to be added after {seconds} seconds")
        if self._is_shut_down:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        due = self._clock.monotonic() + seconds
        if (known := self._due.get(key)) is not None:
            priority = max(known[1], priority)
            if known[0] <= due:
                self._due[key] = (known[0], priority)
                return
        self._due[key] = (due, priority)
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, key))
        if len(self._heap) > 2 * len(self._due) + _HEAP_SLACK:
            self._clear_outdated()
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
                _, priority = self._due.pop(entry[2])
                self.add(entry[2], priority)

    def _is_outdated(self, entry: tuple[float, int, Key]) -> bool:
        known = self._due.get(entry[2])
        return known is None or known[0] != entry[0]

    def _clear_outdated(self) -> None:
        self._heap = [entry for entry in self._heap if not self._is_outdated(entry)]
        heapq.heapify(self._heap)


class RateLimitedQueue(DelayingQueue[Key]):
    """Adds a wait for keys that failed, as long as the rate limiter says."""

    def __init__(
        self, clock: Clock, metrics: QueueMetrics | None = None, rate_limiter: RateLimiter | None = None
    ) -> None:
        super().__init__(clock, metrics)
        limiter = rate_limiter or ExponentialBackoff()
        self._wait_of = limiter.when
        # The limiter's own, without a call between: every reconcile that goes well ends with `forget`.
        self.forget: Callable[[Key], None] = limiter.forget
        self.failures: Callable[[Key], int] = limiter.failures

    def add_rate_limited(self, key: Key, priority: int = 0) -> None:
        if self._metrics is not None:
            self._metrics.retried()
        self.add_after(key, self._wait_of(key), priority)


def _wake(waiter: asyncio.Future[None]) -> bool:
    if waiter.done():
        return False
    waiter.set_result(None)
    return True
