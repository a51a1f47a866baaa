"""What the scheduler reports to whoever counts; metrics.py exports it to Prometheus."""

from __future__ import annotations

from typing import Protocol

from controllers.scheduler.cache import Cache
from controllers.scheduler.diagnosis import Decision
from controllers.scheduler.queue import SchedulingQueue


class SchedulerMetrics(Protocol):
    """What the scheduler reports. `status` and `result` are names of codes, as upstream's: Success, Error, …"""

    @property
    def times_points(self) -> bool:
        """Whether `ran` wants to hear of every extension point: looking at the clock costs each pod a little."""
        ...

    def follow(self, queue: SchedulingQueue, cache: Cache) -> None:
        """What is in them is asked when somebody scrapes."""

    def came(self, queue: str, event: str) -> None:
        """A pod came into one of the queues."""

    def decided(self, seconds: float) -> None:
        """A node was found, or was not."""

    def ran(self, point: str, status: str, profile: str, seconds: float) -> None:
        """All plugins of an extension point."""

    def waited(self, result: str, seconds: float) -> None:
        """For a permit."""

    def preempted(self, result: str, seconds: float) -> None:
        """The victims were asked to go (success), or that failed (error)."""

    def attempted(self, profile: str, decision: Decision, seconds: float) -> None:
        """An attempt is over, its binding included."""

    def bound(self, attempts: int, seconds: float, was_flushed: bool) -> None:
        """`seconds` since the pod was first tried; `was_flushed`: its last attempt was made because time had passed."""


class NoSchedulerMetrics:
    """Counts nothing: for a process without /metrics, and for tests."""

    times_points = False

    def follow(self, queue: SchedulingQueue, cache: Cache) -> None: ...

    def came(self, queue: str, event: str) -> None: ...

    def decided(self, seconds: float) -> None: ...

    def ran(self, point: str, status: str, profile: str, seconds: float) -> None: ...

    def waited(self, result: str, seconds: float) -> None: ...

    def preempted(self, result: str, seconds: float) -> None: ...

    def attempted(self, profile: str, decision: Decision, seconds: float) -> None: ...

    def bound(self, attempts: int, seconds: float, was_flushed: bool) -> None: ...


NO_METRICS = NoSchedulerMetrics()
