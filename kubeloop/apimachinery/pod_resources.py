"""What a whole pod requests and may use at most, as exact quantities: quotas and limit ranges count with these.

Containers and sidecars add up; init containers count with their maximum on top of the sidecars started before them;
pod-level resources replace the sums; overhead is added. Semantics: k8s.io/component-helpers/resource (v1.36). The
scheduler, which compares thousands of pods, has its own version in plain ints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.quantity import Quantity, parse

Quantities = dict[str, Quantity]

_HUGE_PAGES = "hugepages-"


def quantities(resource_list: Mapping[str, Any] | None) -> Quantities:
    """A resource list (`{"cpu": "100m"}`) with its texts parsed."""
    return {name: parse(str(text)) for name, text in (resource_list or {}).items()}


def add(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Quantities:
    """The sums of two lists; what only one of them names is kept."""
    total = dict(left)
    for name, quantity in right.items():
        total[name] = total[name] + quantity if name in total else quantity
    return total


def larger(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Quantities:
    """The larger of two lists, name by name."""
    result = dict(left)
    for name, quantity in right.items():
        if name not in result or result[name] < quantity:
            result[name] = quantity
    return result


def is_pod_level(name: str) -> bool:
    """Whether spec.resources may set this resource for the pod as a whole."""
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def has_pod_level_resources(pod: ReadOnlyObject) -> bool:
    resources = (pod.get("spec") or {}).get("resources") or {}
    return any(is_pod_level(name) for field in ("requests", "limits") for name in resources.get(field) or ())


def pod_requests(pod: ReadOnlyObject, *, with_overhead: bool = True, with_status: bool = False) -> Quantities:
    """The requests of the pod. `with_status`: a resize under way counts with the larger of asked, allocated and run."""
    spec = pod.get("spec") or {}
    total = _with_pod_level(_containers_total(pod, "requests", with_status), spec, "requests")
    return add(total, quantities(spec.get("overhead"))) if with_overhead else total


def pod_limits(pod: ReadOnlyObject, *, with_overhead: bool = True, with_status: bool = False) -> Quantities:
    """The limits of the pod. Overhead is added to what is limited only."""
    spec = pod.get("spec") or {}
    total = _with_pod_level(_containers_total(pod, "limits", with_status), spec, "limits")
    if not with_overhead:
        return total
    overhead = quantities(spec.get("overhead"))
    return add(total, {name: extra for name, extra in overhead.items() if name in total and not total[name].is_zero})


def _with_pod_level(total: Quantities, spec: Mapping[str, Any], field: str) -> Quantities:
    of_pod = quantities((spec.get("resources") or {}).get(field))
    return {**total, **{name: quantity for name, quantity in of_pod.items() if is_pod_level(name)}}


def _containers_total(pod: ReadOnlyObject, field: str, with_status: bool) -> Quantities:
    spec = pod.get("spec") or {}
    reported = dict(_reported(pod)) if with_status else {}
    total: Quantities = {}
    for container in spec.get("containers") or ():
        total = add(total, _of_container(pod, container, field, reported))
    peak, sidecars = Quantities(), Quantities()
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            own = _of_container(pod, container, field, reported)
            total, sidecars = add(total, own), add(sidecars, own)
            peak = larger(peak, sidecars)
        else:
            own = quantities((container.get("resources") or {}).get(field))
            peak = larger(peak, add(own, sidecars))
    return larger(total, peak)


def _of_container(
    pod: ReadOnlyObject, container: Mapping[str, Any], field: str, reported: Mapping[str, Mapping[str, Any]]
) -> Quantities:
    asked = quantities((container.get("resources") or {}).get(field))
    status = reported.get(container.get("name", ""))
    if status is None:
        return asked
    in_effect = quantities(status["resources"].get(field))
    if field == "requests":
        in_effect = larger(in_effect, quantities(status.get("allocatedResources")))
    return in_effect if _is_resize_infeasible(pod) else larger(asked, in_effect)


def _reported(pod: ReadOnlyObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The container statuses in which the kubelet reports resources, by container name."""
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(field) or ():
            if one.get("resources") is not None:
                yield one["name"], one


def _is_resize_infeasible(pod: ReadOnlyObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    pending = next((condition for condition in conditions if condition.get("type") == "PodResizePending"), None)
    return pending is not None and pending.get("reason") == "Infeasible"
