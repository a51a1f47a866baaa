"""A pod in the scheduling queue, with what its attempts so far have shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from controllers.scheduler.pod_info import PodInfo


@dataclass(eq=False, slots=True)
class QueuedPod:
    """Times are seconds of the queue's monotonic clock."""

    pod: PodInfo
    timestamp: float  # when it came into the queue, or when its last attempt failed
    attempts: int = 0
    unschedulable_count: int = 0  # attempts that found no node; they set the backoff
    consecutive_errors: int = 0  # attempts that failed with an error since the last that did not
    backoff_until: float | None = None  # None: not worked out since the last attempt
    initial_attempt: float | None = None
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    was_flushed: bool = False  # its next attempt is made because it has waited for too long
    cycle: int = 0  # the number of its current attempt among all pods' attempts

    @property
    def uid(self) -> str:
        return self.pod.uid

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        return self.unschedulable_plugins | self.pending_plugins
