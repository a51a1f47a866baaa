"""The framework of a scheduler that is scraped: how long each extension point took, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import CycleState, Nomination
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Status, name_of_code

Observe = Callable[[str, str, str, float], None]  # extension point, status, profile, seconds


class TimedFramework(Framework):
    def __init__(self, *arguments: Any, now: Callable[[], float], observe: Observe) -> None:
        """`now` in seconds; the `arguments` are those of Framework."""
        super().__init__(*arguments)
        self._now, self._observe = now, observe

    def _ran(self, point: str, status: Status | None, since: float) -> None:
        self._observe(point, name_of_code(status), self.name, self._now() - since)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[frozenset[str] | None, Status | None]:
        since = self._now()
        names, refusal = super().pre_filter(state, pod, diagnosis)
        self._ran("PreFilter", refusal, since)
        return names, refusal

    def filter_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[Status | None]:
        """Of a slice of the nodes: that nodes refuse the pod is no failure."""
        since = self._now()
        statuses = super().filter_all(state, pod, nodes)
        failure = next((one for one in set(statuses) if one is not None and not one.is_rejected), None)
        self._ran("Filter", failure, since)
        return statuses

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        since = self._now()
        nomination, status = super().post_filter(state, pod, node_statuses, absent)
        self._ran("PostFilter", status, since)
        return nomination, status

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        since = self._now()
        status = super().pre_score(state, pod, nodes)
        self._ran("PreScore", status, since)
        return status

    def weighted_scores(
        self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
    ) -> dict[str, list[int]] | Status:
        since = self._now()
        scores = super().weighted_scores(state, pod, nodes)
        self._ran("Score", scores if isinstance(scores, Status) else None, since)
        return scores

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        since = self._now()
        status = super().reserve(state, pod, node_name)
        self._ran("Reserve", status, since)
        return status

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        since = self._now()
        super().unreserve(state, pod, node_name)
        self._ran("Unreserve", None, since)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, dict[str, float]]:
        since = self._now()
        status, waits = super().permit(state, pod, node_name)
        self._observe("Permit", "Wait" if waits else name_of_code(status), self.name, self._now() - since)
        return status, waits

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        since = self._now()
        status = await super().pre_bind(state, pod, node_name)
        self._ran("PreBind", status, since)
        return status

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        since = self._now()
        status = await super().bind(state, pod, node_name)
        self._ran("Bind", status, since)
        return status

    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        since = self._now()
        await super().post_bind(state, pod, node_name)
        self._ran("PostBind", None, since)
