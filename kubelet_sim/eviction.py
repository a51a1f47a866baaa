"""Whether a node runs out of something, and which pod has to go then, in a kubelet's words. Pure.

Semantics: pkg/kubelet/eviction (v1.36) with its default thresholds. The pods' own usage counts; nothing can be won by
collecting images or dead containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubelet_sim import consumption, usage, volume_usage
from kubelet_sim.state import Verdict
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, name_of
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION
from kubeloop.apimachinery.pod_resources import pod_limits, pod_requests
from kubeloop.apimachinery.quantity import BINARY_SI, of_value, parse
from kubeloop.apimachinery.tolerations import is_tolerated

EVICTED = "Evicted"
MEMORY_PRESSURE = "MemoryPressure"
DISK_PRESSURE = "DiskPressure"

_GRACE_SECONDS = 1.0  # immediateEvictionGracePeriodSeconds
_MEMORY_BYTES = 100 * 2**20  # memory.available
_STORAGE_SHARE = 0.1  # nodefs.available
_CRITICAL_PRIORITY = 2_000_000_000
_CONDITIONS = {usage.MEMORY: MEMORY_PRESSURE, usage.STORAGE: DISK_PRESSURE}


@dataclass(frozen=True, slots=True)
class Shortage:
    """Of a resource less is available than the threshold; in bytes."""

    resource: str
    threshold: int
    available: int

    @property
    def condition(self) -> str:
        """Of the node."""
        return _CONDITIONS[self.resource]


def shortages(node: ReadOnlyObject, pods: Sequence[ReadOnlyObject], now: datetime) -> list[Shortage]:
    """Memory first."""
    found = []
    capacity = (node.get("status") or {}).get("capacity") or {}
    for resource in _CONDITIONS:
        whole = parse(str(capacity.get(resource, "0"))).value()
        threshold = _MEMORY_BYTES if resource == usage.MEMORY else int(whole * _STORAGE_SHARE)
        used = sum(consumption.of_pod(pod, resource, now) for pod in pods)
        if whole and whole - used < threshold:
            found.append(Shortage(resource, threshold, max(int(whole - used), 0)))
    return found


def over_limit(pod: ReadOnlyObject, now: datetime) -> Verdict | None:
    """A pod that uses more local storage than it may goes, whatever its node has left; but for critical ones."""
    why = "" if is_critical(pod) else next(_over_limits(pod, now), "")
    return Verdict(EVICTED, why, _GRACE_SECONDS) if why else None


def _over_limits(pod: ReadOnlyObject, now: datetime) -> Iterator[str]:
    for volume in volume_usage.in_use(pod, now):
        if volume.is_too_much:
            most = go_quote(str(parse(volume.limit)))
            yield f"Usage of EmptyDir volume {go_quote(volume.name)} exceeds the limit {most}. "
    whole = pod_limits(pod).get(usage.STORAGE)
    if whole is not None and consumption.of_pod(pod, usage.STORAGE, now) > whole.value():
        yield f"Pod ephemeral local storage usage exceeds the total limit of containers {whole}. "
    used = consumption.in_use(pod, usage.STORAGE, now)
    for container in pod["spec"]["containers"]:
        limit = ((container.get("resources") or {}).get("limits") or {}).get(usage.STORAGE)
        if limit and used.get(container["name"], 0) > parse(str(limit)).value():
            yield f'Container {container["name"]} exceeded its local ephemeral storage limit "{limit}". '


def ranked(pods: Iterable[ReadOnlyObject], resource: str, now: datetime) -> list[ReadOnlyObject]:
    """Who goes first: who uses more than requested, then the least important, then the largest excess. Pods that
    the cluster cannot do without do not go.
    """

    def rank(pod: ReadOnlyObject) -> tuple[bool, int, float]:
        excess = consumption.of_pod(pod, resource, now) - _requested(pod, resource)
        return excess <= 0, pod["spec"].get("priority") or 0, -excess

    return sorted((pod for pod in pods if not is_critical(pod)), key=rank)


def verdict(pod: ReadOnlyObject, shortage: Shortage, now: datetime) -> Verdict:
    """Its annotations say the same for programs."""
    threshold, available = _spelled(shortage.threshold), _spelled(shortage.available)
    message = f"The node was low on resource: {shortage.resource}. "
    message += f"Threshold quantity: {threshold}, available: {available}. "
    annotations: dict[str, str] = {}
    whole = ((pod["spec"].get("resources") or {}).get("requests") or {}).get(shortage.resource)
    if whole and shortage.resource == usage.MEMORY:
        used = _spelled(int(consumption.of_pod(pod, shortage.resource, now)))
        message += f"Pod {name_of(pod)} was using {used}, request is {whole}, "
        message += f"has larger consumption of {shortage.resource}. "
        annotations |= {"offending_pod": name_of(pod), "offending_pod_usage": used}
    requests = _requests_by_name(pod, shortage.resource)
    offending: dict[str, str] = {}
    for name, amount in consumption.in_use(pod, shortage.resource, now).items():
        request = requests.get(name, "0")
        if amount > parse(request).value():
            offending[name] = _spelled(int(amount))
            message += f"Container {name} was using {offending[name]}, request is {request}, "
            message += f"has larger consumption of {shortage.resource}. "
    annotations |= {
        "offending_containers": ",".join(offending),
        "offending_containers_usage": ",".join(offending.values()),
        "starved_resource": shortage.resource,
    }
    return Verdict(EVICTED, message, _GRACE_SECONDS, disruption=message, annotations=annotations)


def objection(pod: ReadOnlyObject, pressures: Sequence[str]) -> Verdict | None:
    """Why a node under pressure does not take the pod. Memory is refused to those who request nothing."""
    if not pressures or is_critical(pod):
        return None
    if list(pressures) == [MEMORY_PRESSURE]:
        is_best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
        if not is_best_effort or _tolerates_memory_pressure(pod):
            return None
    return Verdict(EVICTED, f"The node had condition: [{' '.join(pressures)}]. ")


def is_critical(pod: ReadOnlyObject) -> bool:
    """By its priority; so are mirrors of static pods."""
    is_important = (pod["spec"].get("priority") or 0) >= _CRITICAL_PRIORITY
    return bool(is_important or MIRROR_ANNOTATION in annotations_of(pod))


def _tolerates_memory_pressure(pod: ReadOnlyObject) -> bool:
    taint = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    return is_tolerated(pod["spec"].get("tolerations") or (), taint)


def _requested(pod: ReadOnlyObject, resource: str) -> int:
    quantity = pod_requests(pod).get(resource)
    return quantity.value() if quantity else 0


def _requests_by_name(pod: ReadOnlyObject, resource: str) -> Mapping[str, str]:
    containers: list[Mapping[str, Any]] = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]
    requests = {one["name"]: ((one.get("resources") or {}).get("requests") or {}).get(resource) for one in containers}
    return {name: str(text) for name, text in requests.items() if text}


def _spelled(number: int) -> str:
    return str(of_value(number, BINARY_SI))
