"""What pods request of a resource, in thousandths: utilization is in percent of it. Pure.

A container without a request makes the whole impossible, unless the pod as a whole requests something.
pkg/controller/podautoscaler/replica_calculator.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from controllers.horizontal_pod_autoscaler.model import Json
from controllers.horizontal_pod_autoscaler.replicas import NoProposal
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.quantity import milli_value


def requests_of(pods: Iterable[ReadOnlyObject], resource: str, container: str = "") -> dict[str, int]:
    """By pod; of one container where it is named."""
    return {name_of(pod): _of_pod(pod, resource, container) for pod in pods}


def _of_pod(pod: ReadOnlyObject, resource: str, container: str) -> int:
    spec = pod["spec"]
    if not container and any(map(_is_pod_level, (spec.get("resources") or {}).get("requests") or ())):
        return _of_whole_pod(pod, resource)
    total = 0
    for one in _lasting(spec):
        if container in ("", one["name"]):
            asked = _asked(one, resource)
            if asked is None:
                raise NoProposal(f"missing request for {resource} in container {one['name']} of Pod {name_of(pod)}")
            total += asked
        if container == one["name"]:
            return total
    if container:
        raise NoProposal(f"container {container} not found in Pod {name_of(pod)}")
    return total


def _of_whole_pod(pod: ReadOnlyObject, resource: str) -> int:
    """What the pod requests as a whole, else what its containers need at once; and its overhead."""
    spec = pod["spec"]
    asked = _asked(spec, resource) if _is_pod_level(resource) else None
    if asked is None:
        asked = _needed_at_once(spec, resource)
    overhead = (spec.get("overhead") or {}).get(resource)
    if asked is None and overhead is None:
        raise NoProposal(f"missing pod-level request for {resource} in Pod {name_of(pod)}")
    return (asked or 0) + (milli_value(str(overhead)) if overhead is not None else 0)


def _needed_at_once(spec: Json, resource: str) -> int | None:
    """All that last together, or an init container with the sidecars before it; None where nobody asks."""
    before, peaks = 0, [0]
    for one in spec.get("initContainers") or ():
        asked = _asked(one, resource) or 0
        peaks.append(before + asked)
        before += asked if _is_sidecar(one) else 0
    everyone = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if all(_asked(one, resource) is None for one in everyone):
        return None
    return max(sum(_asked(one, resource) or 0 for one in _lasting(spec)), *peaks)


def _lasting(spec: Json) -> Sequence[Json]:
    """The containers that run as long as the pod: sidecars are init containers that stay."""
    return [*(spec.get("containers") or ()), *filter(_is_sidecar, spec.get("initContainers") or ())]


def _is_sidecar(container: Json) -> bool:
    return bool(container.get("restartPolicy") == "Always")


def _asked(owner: Json, resource: str) -> int | None:
    quantity: Any = ((owner.get("resources") or {}).get("requests") or {}).get(resource)
    return None if quantity is None else milli_value(str(quantity))


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")
