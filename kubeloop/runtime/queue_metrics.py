"""What a workqueue reports to those who listen: metrics.py, in a process with /metrics."""

from __future__ import annotations

from typing import Protocol


class QueueMetrics(Protocol):
    """What a workqueue reports."""

    def added(self) -> None: ...

    def depth(self, depth: int) -> None: ...

    def started(self, depth: int, waited_seconds: float) -> None: ...

    def finished(self, worked_seconds: float) -> None: ...

    def retried(self) -> None: ...
