"""What the scheduler reports to whoever counts; metrics.py exports it to Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controllers.scheduler.diagnosis import Decision


class SchedulerMetrics(Protocol):
    """What the scheduler reports."""

    def attempted(self, profile: str, decision: Decision, seconds: float) -> None: ...

    def bound(self, attempts: int, seconds: float) -> None: ...

    def pending(self, by_queue: Mapping[str, int]) -> None: ...


class NoSchedulerMetrics:
    """Counts nothing: for a process without /metrics, and for tests."""

    def attempted(self, profile: str, decision: Decision, seconds: float) -> None: ...

    def bound(self, attempts: int, seconds: float) -> None: ...

    def pending(self, by_queue: Mapping[str, int]) -> None: ...


NO_METRICS = NoSchedulerMetrics()
