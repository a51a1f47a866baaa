"""PrioritySort: higher priority first, among equals the one that has waited longer."""

from __future__ import annotations

from controllers.scheduler.interface import QueueSortPlugin
from controllers.scheduler.queued_pod import QueuedPod


class PrioritySort(QueueSortPlugin):
    NAME = "PrioritySort"

    def sort_key(self, queued: QueuedPod) -> tuple[float, ...]:
        return (-queued.pod.priority, queued.timestamp)
