"""What running containers use of a resource, as their annotations say it (usage.py) and their limits let them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kubelet_sim import usage, volume_usage
from kubelet_sim.annotations import PREFIX, BehaviourError
from kubelet_sim.usage import Curve
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of
from kubeloop.apimachinery.times import seconds_since

Json = Mapping[str, Any]

_SAYINGS = tuple(f"{PREFIX}{one}" for one in (f"{usage.MEMORY}-usage", f"{usage.STORAGE}-usage", volume_usage.WORD))


def running(pod: ReadOnlyObject) -> Iterator[tuple[Json, str]]:
    """The containers that run, and since when."""
    status, spec = pod.get("status") or {}, pod["spec"]
    for statuses, specs in (("initContainerStatuses", "initContainers"), ("containerStatuses", "containers")):
        known = {container["name"]: container for container in spec.get(specs) or ()}
        for one in status.get(statuses) or ():
            started = ((one.get("state") or {}).get("running") or {}).get("startedAt")
            if started and one["name"] in known:
                yield known[one["name"]], started


def curve(pod: ReadOnlyObject, container: Json, resource: str) -> Curve:
    """What a container of the pod uses over its time; one that is not understood is told as an event of the pod."""
    try:
        return usage.own_usage(container, annotations_of(pod), resource)
    except BehaviourError:
        return usage.own_usage(container, {}, resource)


def in_use(pod: ReadOnlyObject, resource: str, now: datetime) -> dict[str, float]:
    """By container, in bytes. Of memory a container has no more than its limit."""
    found: dict[str, float] = {}
    for container, started in running(pod):
        age = seconds_since(started, now)
        amount = curve(pod, container, resource).average(age, age)
        found[container["name"]] = usage.limited(container, resource, amount) if resource == usage.MEMORY else amount
    return found


def of_pod(pod: ReadOnlyObject, resource: str, now: datetime) -> float:
    """By its containers together, in bytes; of storage its volumes are part."""
    used = sum(in_use(pod, resource, now).values())
    return used + volume_usage.on_disk(pod, now) if resource == usage.STORAGE else used


def is_said(pod: ReadOnlyObject) -> bool:
    """Whether anything is said of the memory or the storage that the pod uses."""
    return any(name.startswith(_SAYINGS) for name in annotations_of(pod))
