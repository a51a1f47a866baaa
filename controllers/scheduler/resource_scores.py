"""Scoring by how full a node would be: LeastAllocated, MostAllocated, RequestedToCapacityRatio.

The usual case, cpu and memory with weight 1, has its own loop over plain attributes: it runs for every pod.
Containers without requests count with 100m and 200Mi here, so that many of them do not pile up on one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllers.scheduler.interface import MAX_NODE_SCORE
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, MEMORY

Spec = tuple[str, int]  # resource, weight
Scorer = Callable[[PodInfo, Sequence[NodeInfo]], list[int]]
Rate = Callable[[int, int], int]  # requested, capacity -> 0..100

DEFAULT_SPECS: Sequence[Spec] = ((CPU, 1), (MEMORY, 1))


def resource_specs(strategy: Mapping[str, Any]) -> Sequence[Spec]:
    """`resources` of a scoring strategy or of plugin arguments."""
    specs = tuple((spec["name"], spec.get("weight") or 1) for spec in strategy.get("resources") or ())
    return specs or DEFAULT_SPECS


def scorer_of(strategy_type: str, specs: Sequence[Spec], strategy: Mapping[str, Any]) -> Scorer:
    """ValueError for a strategy that does not exist."""
    if strategy_type == "LeastAllocated":
        return _least_allocated if specs == DEFAULT_SPECS else _weighted(specs, _free_share)
    if strategy_type == "MostAllocated":
        return _weighted(specs, _used_share)
    if strategy_type == "RequestedToCapacityRatio":
        return _weighted(specs, _shaped((strategy.get("requestedToCapacityRatio") or {}).get("shape") or ()), True)
    raise ValueError(f"scoring strategy {strategy_type} is not supported")


def usage(pod: PodInfo, node: NodeInfo, resource: str) -> tuple[int, int]:
    """What would be requested of it with the pod there, and what there is; for scoring."""
    if resource == CPU:
        return node.non_zero_cpu + pod.non_zero_cpu, node.allocatable_cpu
    if resource == MEMORY:
        return node.non_zero_memory + pod.non_zero_memory, node.allocatable_memory
    if resource == EPHEMERAL_STORAGE:
        return node.requested_ephemeral + pod.ephemeral_storage, node.allocatable_ephemeral
    asked = pod.scalars.get(resource, 0)
    if not asked:
        return 0, 0  # a node is not judged by extended resources the pod does not want
    return node.requested_scalars.get(resource, 0) + asked, node.allocatable_scalars.get(resource, 0)


def _least_allocated(pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
    cpu, memory = pod.non_zero_cpu, pod.non_zero_memory
    scores: list[int] = []
    for node in nodes:
        cpu_capacity, memory_capacity = node.allocatable_cpu, node.allocatable_memory
        if not cpu_capacity or not memory_capacity:
            scores.append(_weighted_score(pod, node, DEFAULT_SPECS, _free_share, False))
            continue
        cpu_free = cpu_capacity - node.non_zero_cpu - cpu
        memory_free = memory_capacity - node.non_zero_memory - memory
        cpu_score = cpu_free * MAX_NODE_SCORE // cpu_capacity if cpu_free > 0 else 0
        memory_score = memory_free * MAX_NODE_SCORE // memory_capacity if memory_free > 0 else 0
        scores.append((cpu_score + memory_score) // 2)
    return scores


def _weighted(specs: Sequence[Spec], rate: Rate, leaves_zeros_out: bool = False) -> Scorer:
    return lambda pod, nodes: [_weighted_score(pod, node, specs, rate, leaves_zeros_out) for node in nodes]


def _weighted_score(pod: PodInfo, node: NodeInfo, specs: Sequence[Spec], rate: Rate, leaves_zeros_out: bool) -> int:
    """The weighted mean over the resources the node has."""
    total = weights = 0
    for resource, weight in specs:
        requested, capacity = usage(pod, node, resource)
        if capacity == 0:
            continue
        rated = rate(requested, capacity)
        if leaves_zeros_out and rated <= 0:
            continue
        total += rated * weight
        weights += weight
    if not weights:
        return 0
    return int(total / weights + 0.5) if leaves_zeros_out else total // weights


def _free_share(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else (capacity - requested) * MAX_NODE_SCORE // capacity


def _used_share(requested: int, capacity: int) -> int:
    return min(requested, capacity) * MAX_NODE_SCORE // capacity


def _shaped(shape: Sequence[Mapping[str, int]]) -> Rate:
    """A broken line through (utilization in percent, score 0..10)."""
    points = [(point.get("utilization", 0), point.get("score", 0) * 10) for point in shape] or [(0, 0)]

    def rate(requested: int, capacity: int) -> int:
        percent = 100 if requested > capacity else requested * 100 // capacity
        for i, (x, y) in enumerate(points):
            if percent <= x:
                if i == 0:
                    return points[0][1]
                before_x, before_y = points[i - 1]
                return before_y + int((y - before_y) * (percent - before_x) / (x - before_x))
        return points[-1][1]

    return rate
