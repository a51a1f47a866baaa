"""All extenders of a scheduler, in the order of the configuration; those that may be ignored come last."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.extenders.calls import ExtenderFailed, HttpCaller
from controllers.scheduler.extenders.extender import Extender
from controllers.scheduler.extenders.settings import ExtenderSettings
from controllers.scheduler.interface import Candidate
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import SKIP, Status, failed

log = structlog.get_logger(__name__)

NAME = "Extender"  # what refuses, where one of them did: any event may change its mind


class Extenders:
    """Falsy where there are none."""

    def __init__(self, extenders: Sequence[Extender] = ()) -> None:
        self._all = sorted(extenders, key=lambda extender: extender.settings.is_ignorable)
        self.has_filters = any(one.settings.filter_verb for one in self._all)
        self.has_scoring = any(one.settings.prioritize_verb for one in self._all)

    def __bool__(self) -> bool:
        return bool(self._all)

    async def filter(self, pod: PodInfo, nodes: list[NodeInfo], diagnosis: Diagnosis) -> list[NodeInfo] | Status:
        """One after the other, each with the nodes that those before it left; refusals go into the diagnosis."""
        left = nodes
        for extender in self._asked(pod, "filter_verb"):
            if not left:
                break
            try:
                filtered = await extender.filter(pod, left)
            except ExtenderFailed as error:
                if not extender.settings.is_ignorable:
                    return failed(str(error))
                _log_ignored(extender, pod, error)
                continue
            diagnosis.node_statuses.update(filtered.refused)
            left = filtered.nodes
        if len(left) != len(nodes):
            diagnosis.unschedulable_plugins.add(NAME)
        return left

    async def scores(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, list[int]]:
        """By extender, which its number stands for: points a node. One that fails gives none."""
        asked = self._asked(pod, "prioritize_verb")
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(self._points(extender, pod, nodes)) for extender in asked]
        return {f"{NAME} {number}": task.result() for number, task in enumerate(answers, 1)}

    async def _points(self, extender: Extender, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        try:
            points = await extender.prioritize(pod, nodes)
        except ExtenderFailed as error:
            _log_ignored(extender, pod, error)
            points = {}
        return [points.get(node.name, 0) for node in nodes]

    async def preempt(
        self, pod: PodInfo, candidates: Sequence[Candidate], snapshot: Snapshot
    ) -> Sequence[Candidate] | Status:
        """The candidates for a preemption that all agree to."""
        for extender in self._asked(pod, "preempt_verb"):
            if not candidates:
                break
            try:
                agreed = await extender.preempt(pod, candidates, snapshot)
                empty = next((one for one in agreed if not one.victims), None)
                if empty is not None and not extender.settings.is_ignorable:
                    raise ExtenderFailed(f'expected at least one victim pod on node "{empty.node_name}"')
            except ExtenderFailed as error:
                if not extender.settings.is_ignorable:
                    return failed(str(error))
                _log_ignored(extender, pod, error)
                continue
            candidates = [one for one in agreed if one.victims]
        return candidates

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """SKIP where none of them binds the pod."""
        for extender in self._asked(pod, "bind_verb"):
            try:
                await extender.bind(pod, node_name)
            except ExtenderFailed as error:
                if not extender.settings.is_ignorable:
                    return failed(str(error))
                _log_ignored(extender, pod, error)
                continue
            return None
        return SKIP

    def of_interest(self, pod: PodInfo) -> Sequence[str]:
        """The URLs of those whose affair the pod is."""
        return [one.settings.url for one in self._all if one.is_interested(pod)]

    def _asked(self, pod: PodInfo, verb: str) -> Sequence[Extender]:
        return [one for one in self._all if getattr(one.settings, verb) and one.is_interested(pod)]


def over_http(settings: Sequence[ExtenderSettings]) -> Extenders:
    """As a configuration names them."""
    return Extenders([Extender(one, HttpCaller(one)) for one in settings])


def _log_ignored(extender: Extender, pod: PodInfo, error: ExtenderFailed) -> None:
    log.info("extender ignored", extender=extender.settings.url, pod=str(pod.key), error=str(error))


NO_EXTENDERS = Extenders()
