"""What a node and its pods use, as a kubelet tells it: the summary, and the metrics of resources. Pure.

Facts: k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go, pkg/kubelet/metrics/collectors/resource_metrics.go (v1.36). Only
what containers use by themselves is told here; shares of a workload's load are metrics.k8s.io's to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from kubelet_sim import consumption, usage, volume_usage
from kubelet_sim.metrics.readings import SYSTEM
from kubelet_sim.server import node_disks
from kubeloop.apimachinery.exposition import COUNTER, GAUGE, Family, Sample
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, metadata
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.times import format_time, parse_time, seconds_since

_WINDOW_SECONDS = 10.0  # of the present use of CPU
_NANO = 1_000_000_000
_STORAGE = "ephemeral-storage"


@dataclass(frozen=True, slots=True)
class Used:
    """`cores` now, `core_seconds` since the start; bytes."""

    name: str
    started_at: str
    cores: float
    core_seconds: float
    memory: float
    storage: float
    memory_limit: float | None = None


def of_pod(pod: ReadOnlyObject, now: datetime) -> list[Used]:
    """What its running containers use."""
    return [_of_container(pod, container, started, now) for container, started in consumption.running(pod)]


def _of_container(pod: ReadOnlyObject, container: Mapping[str, Any], started: str, now: datetime) -> Used:
    age = max(0.0, seconds_since(started, now))
    cpu, memory, storage = (consumption.curve(pod, container, one) for one in (usage.CPU, usage.MEMORY, usage.STORAGE))
    return Used(
        container["name"],
        started,
        usage.limited(container, usage.CPU, cpu.average(max(0.0, age - _WINDOW_SECONDS), age)),
        usage.limited(container, usage.CPU, cpu.average(0, age)) * age,
        usage.limited(container, usage.MEMORY, memory.average(age, age)),
        storage.average(age, age),
        usage.limit(container, usage.MEMORY),
    )


def summary(
    node: ReadOnlyObject,
    pods: Sequence[ReadOnlyObject],
    now: datetime,
    image_bytes: int = 0,
    claims: node_disks.Claims = MappingProxyType({}),
) -> Object:
    """A stats.Summary. `image_bytes`: what its images take. `claims`: those of the pods that are bound."""
    time, used = format_time(now), [(pod, of_pod(pod, now)) for pod in pods]
    whole = _of_node(node, [one for _, containers in used for one in containers], now)
    capacity = (node.get("status") or {}).get("capacity") or {}
    memory, storage = (int(parse(str(capacity.get(name) or "0")).approximate()) for name in ("memory", _STORAGE))
    disks = node_disks.Disks(storage, memory, image_bytes)
    running = [(pod, containers) for pod, containers in used if containers]
    on_disk = sum(volume_usage.on_disk(pod, now) + node_disks.of_files(pod) for pod, _ in running)
    of_pods = _sum([one for _, containers in running for one in containers], "pods", whole.started_at)
    return {
        "node": {
            "nodeName": metadata(node)["name"],
            "systemContainers": [
                {"name": one.name, "startTime": one.started_at, **_shown(one, time)}
                for one in (_system(node, now), of_pods)
            ],
            "startTime": whole.started_at,
            **_shown(replace(whole, memory_limit=memory), time),
            "fs": node_disks.file_system(storage, round(whole.storage) + on_disk, time),
            "runtime": node_disks.of_images(disks, time),
            "swap": _no_swap(time),
        },
        "pods": [_of_pod(pod, containers, disks, claims, now, time) for pod, containers in running],
    }


def _of_pod(
    pod: ReadOnlyObject,
    containers: Sequence[Used],
    disks: node_disks.Disks,
    claims: node_disks.Claims,
    now: datetime,
    time: str,
) -> Object:
    """A stats.PodStats. Logs are told of and take nothing."""
    whole, volumes = _sum(containers), node_disks.volumes(pod, disks, claims, now, time)
    on_disk = volume_usage.on_disk(pod, now) + node_disks.of_files(pod)
    return {
        "podRef": {name: metadata(pod)[name] for name in ("name", "namespace", "uid")},
        "startTime": (pod.get("status") or {}).get("startTime"),
        "containers": [
            {
                "name": one.name,
                "startTime": one.started_at,
                **_shown(one, time),
                "rootfs": node_disks.file_system(disks.storage, round(one.storage), time),
                "logs": node_disks.file_system(disks.storage, 0, time, 1),
                "swap": _no_swap(time),
            }
            for one in containers
        ],
        **_shown(whole, time),
        **({"volume": volumes} if volumes else {}),
        "ephemeral-storage": node_disks.file_system(disks.storage, round(whole.storage) + on_disk, time),
        "process_stats": {"process_count": len(containers)},
        "swap": _no_swap(time),
    }


def _no_swap(time: str) -> Object:
    return {"time": time, "swapUsageBytes": 0}


def _shown(used: Used, time: str) -> Object:
    """What is available is known only where there is a limit."""
    memory = round(used.memory)
    available = None if used.memory_limit is None else max(0, round(used.memory_limit) - memory)
    return {
        "cpu": {
            "time": time,
            "usageNanoCores": round(used.cores * _NANO),
            "usageCoreNanoSeconds": round(used.core_seconds * _NANO),
        },
        "memory": {
            "time": time,
            **({} if available is None else {"availableBytes": available}),
            "usageBytes": memory,
            "workingSetBytes": memory,
            "rssBytes": memory,
        },
    }


def _sum(containers: Sequence[Used], name: str = "", started_at: str = "") -> Used:
    """Limited where each of them is."""
    limits = [one.memory_limit for one in containers if one.memory_limit is not None]
    return Used(
        name,
        started_at,
        sum(one.cores for one in containers),
        sum(one.core_seconds for one in containers),
        sum(one.memory for one in containers),
        sum(one.storage for one in containers),
        sum(limits) if limits and len(limits) == len(containers) else None,
    )


def _of_node(node: ReadOnlyObject, containers: Sequence[Used], now: datetime) -> Used:
    """Its containers, and its system, since it was registered."""
    system = _system(node, now)
    return _sum([*containers, system], metadata(node)["name"], system.started_at)


def _system(node: ReadOnlyObject, now: datetime) -> Used:
    started_at = metadata(node)["creationTimestamp"]
    age = max(0.0, seconds_since(started_at, now))
    return Used("kubelet", started_at, SYSTEM["cpu"], SYSTEM["cpu"] * age, SYSTEM["memory"], 0.0)


def resource_metrics(node: ReadOnlyObject, pods: Sequence[ReadOnlyObject], now: datetime) -> Iterator[Family]:
    """/metrics/resource."""
    used = [(pod, of_pod(pod, now)) for pod in pods]
    whole = _of_node(node, [one for _, containers in used for one in containers], now)
    of_containers = [(_labels(pod) | {"container": one.name}, one) for pod, containers in used for one in containers]
    of_pods = [(_labels(pod), _sum(containers)) for pod, containers in used if containers]
    for prefix, found in (("node", [({}, whole)]), ("pod", of_pods), ("container", of_containers)):
        yield Family(
            f"{prefix}_cpu_usage_seconds_total",
            COUNTER,
            f"[STABLE] Cumulative cpu time consumed by the {prefix} in core-seconds",
            [Sample(labels, one.core_seconds) for labels, one in found],
        )
        yield Family(
            f"{prefix}_memory_working_set_bytes",
            GAUGE,
            f"[STABLE] Current working set of the {prefix} in bytes",
            [Sample(labels, int(one.memory)) for labels, one in found],
        )
    yield Family(
        "container_start_time_seconds",
        GAUGE,
        "[STABLE] Start time of the container since unix epoch in seconds",
        [Sample(labels, parse_time(one.started_at).timestamp()) for labels, one in of_containers],
    )
    yield Family(
        "resource_scrape_error",
        GAUGE,
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
        [Sample({}, 0)],
    )


def _labels(pod: ReadOnlyObject) -> dict[str, str]:
    return {"namespace": metadata(pod)["namespace"], "pod": metadata(pod)["name"]}
