"""What every node and pod used, at a moment of looking. Pure.

A container is known when it ran for the whole time since the last look, or for FRESH_SECONDS at least; its usage is the
average of that time. A pod is known when all of its running containers are. So it is with metrics-server, which needs
two points of a counter (pkg/storage/pod.go, v0.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog

from kubelet_sim import consumption, usage
from kubelet_sim.annotations import PREFIX, BehaviourError
from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import (
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    key_of,
    metadata,
    uid_of,
)
from kubeloop.apimachinery.times import parse_time, seconds_since

log = structlog.get_logger(__name__)

FRESH_SECONDS = 10.0
# What a node uses besides its pods: its kubelet and its system.
SYSTEM = {"cpu": 0.05, "memory": 256.0 * 2**20}

Json = Mapping[str, Any]
Usage = Mapping[str, float]  # resource -> cores or bytes

# The workload a pod belongs to in the end, if it is known; a ReplicaSet's is its Deployment.
WorkloadOf = Callable[[ReadOnlyObject], ReadOnlyObject | None]


class PodReading(NamedTuple):
    taken_at: datetime
    window_seconds: float
    containers: Mapping[str, Usage]


class NodeReading(NamedTuple):
    taken_at: datetime
    window_seconds: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class Readings:
    pods: Mapping[ObjectKey, PodReading]
    nodes: Mapping[str, NodeReading]


def read(
    pods: Sequence[ReadOnlyObject],
    nodes: Iterable[ReadOnlyObject],
    workload_of: WorkloadOf,
    taken_at: datetime,
    resolution_seconds: float,
) -> Readings:
    """As of `taken_at`, with the last look `resolution_seconds` before."""
    up = {metadata(node)["name"] for node in nodes if is_true(conditions_of(node), "Ready")}
    shares = _shares(pods, workload_of, taken_at, resolution_seconds)
    found: dict[ObjectKey, PodReading] = {}
    sums = {name: dict(SYSTEM) for name in sorted(up)}
    for pod in pods:
        node = (pod.get("spec") or {}).get("nodeName")
        reading = _of_pod(pod, shares.get(uid_of(pod), {}), taken_at, resolution_seconds) if node in up else None
        if reading is None:
            continue
        found[key_of(pod)] = reading
        for used in reading.containers.values():
            for resource, amount in used.items():
                sums[node][resource] += amount
    return Readings(found, {name: NodeReading(taken_at, resolution_seconds, used) for name, used in sums.items()})


def _of_pod(pod: ReadOnlyObject, share: Usage, taken_at: datetime, resolution_seconds: float) -> PodReading | None:
    containers: dict[str, Usage] = {}
    windows = []
    first = pod["spec"]["containers"][0]["name"]
    for container, started in consumption.running(pod):
        age = seconds_since(started, taken_at)
        window = resolution_seconds if age >= resolution_seconds else age
        if window < min(FRESH_SECONDS, resolution_seconds):
            return None
        on_top = share if container["name"] == first else {}
        containers[container["name"]] = {
            resource: _used(pod, container, resource, age, window, on_top.get(resource, 0.0))
            for resource in usage.RESOURCES
        }
        windows.append(window)
    return PodReading(taken_at, min(windows), containers) if containers else None


def _used(pod: ReadOnlyObject, container: Json, resource: str, age: float, window: float, on_top: float) -> float:
    """CPU is the average of the window, memory what is in use at its end."""
    curve = consumption.curve(pod, container, resource)
    own = curve.average(age - window if resource == "cpu" else age, age)
    return usage.limited(container, resource, own + on_top)


def _shares(
    pods: Iterable[ReadOnlyObject], workload_of: WorkloadOf, taken_at: datetime, resolution_seconds: float
) -> Mapping[str, Usage]:
    """By uid of a ready pod: its share of what its workload has to do."""
    teams: dict[str, tuple[ReadOnlyObject, list[str]]] = {}
    for pod in pods:
        workload = workload_of(pod)
        if workload is not None and _has_load(workload) and _was_ready(pod, taken_at):
            teams.setdefault(uid_of(workload), (workload, []))[1].append(uid_of(pod))
    shares: dict[str, Usage] = {}
    for workload, team in teams.values():
        whole = _load_of(workload, taken_at, resolution_seconds)
        share = {resource: amount / len(team) for resource, amount in whole.items()}
        shares |= dict.fromkeys(team, share)
    return shares


def _has_load(workload: ReadOnlyObject) -> bool:
    return any(f"{PREFIX}{resource}-load" in annotations_of(workload) for resource in usage.RESOURCES)


def _load_of(workload: ReadOnlyObject, taken_at: datetime, resolution_seconds: float) -> Usage:
    age = seconds_since(metadata(workload)["creationTimestamp"], taken_at)
    found: dict[str, float] = {}
    for resource in usage.RESOURCES:
        try:
            curve = usage.load(annotations_of(workload), resource)
        except BehaviourError as error:
            log.warning("a load is not understood", workload=str(key_of(workload)), error=str(error))
            continue
        if curve is not None:
            found[resource] = curve.average(age - resolution_seconds if resource == "cpu" else age, age)
    return found


def _was_ready(pod: ReadOnlyObject, moment: datetime) -> bool:
    condition = get_condition(conditions_of(pod), "Ready") or {}
    if is_being_deleted(pod) or condition.get("status") != "True":
        return False
    since = condition.get("lastTransitionTime")
    return since is None or parse_time(since) <= moment


def last_look(now: datetime, resolution_seconds: float) -> datetime:
    """Looks are at multiples of the resolution, by the clock: every process that looks, looks at the same time."""
    return now - timedelta(seconds=now.timestamp() % resolution_seconds)
