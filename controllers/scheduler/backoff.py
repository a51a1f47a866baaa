"""How long a pod waits after a failed attempt: 1 s, doubled each time, at most 10 s."""

from __future__ import annotations

import math

from controllers.scheduler.queued_pod import QueuedPod
from kubeloop.apimachinery.clock import Clock

INITIAL_SECONDS = 1.0
MAX_SECONDS = 10.0


class Backoff:
    """Ends are cut to whole seconds, so that pods whose backoff ends in the same second are tried by priority."""

    def __init__(
        self, clock: Clock, initial_seconds: float = INITIAL_SECONDS, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._clock = clock
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds

    def ends(self, queued: QueuedPod) -> float:
        """Long ago for a pod that never failed. Worked out once an attempt, so that its place in the queue stays."""
        failures = queued.consecutive_errors or queued.unschedulable_count
        if failures == 0:
            return -math.inf
        if queued.backoff_until is None:
            seconds = min(self._initial_seconds * 2 ** min(failures - 1, 32), self._max_seconds)
            queued.backoff_until = math.floor(queued.timestamp + seconds)
        return queued.backoff_until

    def is_backing_off(self, queued: QueuedPod) -> bool:
        return self.ends(queued) >= math.floor(self._clock.monotonic())
