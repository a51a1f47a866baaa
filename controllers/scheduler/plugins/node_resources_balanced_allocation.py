"""NodeResourcesBalancedAllocation: prefers nodes on which the pod evens out how full cpu and memory are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import sqrt

from controllers.scheduler.interface import MAX_NODE_SCORE, CycleState, Handle, PreScorePlugin, ScorePlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, MEMORY
from controllers.scheduler.resource_scores import DEFAULT_SPECS, resource_specs
from controllers.scheduler.status import SKIP, Status


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Counts real requests only: a pod without any neither helps nor hurts the balance."""

    NAME = "NodeResourcesBalancedAllocation"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        specs = resource_specs(handle.args)
        self._resources = [resource for resource, _ in specs]
        self._is_usual = tuple(specs) == DEFAULT_SPECS

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        return None if any(_asked(pod, resource) for resource in self._resources) else SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        return _usual_scores(pod, nodes) if self._is_usual else [self._score(pod, node) for node in nodes]

    def score_question(self, pod: PodInfo) -> Hashable:
        return pod.size

    def _score(self, pod: PodInfo, node: NodeInfo) -> int:
        before: list[float] = []
        after: list[float] = []
        for resource in self._resources:
            asked = _asked(pod, resource)
            requested, capacity = _of_node(node, resource)
            if capacity == 0 or (not asked and resource not in (CPU, MEMORY, EPHEMERAL_STORAGE)):
                continue
            before.append(min(requested / capacity, 1.0))
            after.append(min((requested + asked) / capacity, 1.0))
        return _gain(_balance(after), _balance(before))


def _usual_scores(pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
    """The same for cpu and memory alone, where half their difference is the deviation."""
    cpu, memory = pod.cpu, pod.memory
    scores: list[int] = []
    for node in nodes:
        cpu_capacity, memory_capacity = node.allocatable_cpu, node.allocatable_memory
        if not cpu_capacity or not memory_capacity:
            scores.append(_gain(MAX_NODE_SCORE, MAX_NODE_SCORE))
            continue
        cpu_before = node.requested_cpu / cpu_capacity
        memory_before = node.requested_memory / memory_capacity
        cpu_after = (node.requested_cpu + cpu) / cpu_capacity
        memory_after = (node.requested_memory + memory) / memory_capacity
        if cpu_after > 1.0 or memory_after > 1.0:
            cpu_before, memory_before = min(cpu_before, 1.0), min(memory_before, 1.0)
            cpu_after, memory_after = min(cpu_after, 1.0), min(memory_after, 1.0)
        before = int((1 - abs((cpu_before - memory_before) / 2)) * MAX_NODE_SCORE)
        after = int((1 - abs((cpu_after - memory_after) / 2)) * MAX_NODE_SCORE)
        scores.append(50 + (50 + after - before) // 2)
    return scores


def _balance(fractions: Sequence[float]) -> int:
    """In the arithmetic of upstream: a last bit may make a point."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = sqrt(sum((fraction - mean) * (fraction - mean) for fraction in fractions) / len(fractions))
    return int((1 - deviation) * MAX_NODE_SCORE)


def _gain(after: int, before: int) -> int:
    """75 where nothing changes, up to 100 for a better balance, down to 50 for a worse one."""
    return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - before) // 2


def _asked(pod: PodInfo, resource: str) -> int:
    fixed = {CPU: pod.cpu, MEMORY: pod.memory, EPHEMERAL_STORAGE: pod.ephemeral_storage}
    return fixed[resource] if resource in fixed else pod.scalars.get(resource, 0)


def _of_node(node: NodeInfo, resource: str) -> tuple[int, int]:
    if resource == CPU:
        return node.requested_cpu, node.allocatable_cpu
    if resource == MEMORY:
        return node.requested_memory, node.allocatable_memory
    if resource == EPHEMERAL_STORAGE:
        return node.requested_ephemeral, node.allocatable_ephemeral
    return node.requested_scalars.get(resource, 0), node.allocatable_scalars.get(resource, 0)
