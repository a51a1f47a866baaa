"""What a pod asks of a node: its effective requests as plain ints, computed once per pod and never in the node loop.

CPU counts in millicores, everything else in its unit (bytes, pieces). The rules are those of
component-helpers/resource (v1.36): containers and sidecars add up, init containers count with their maximum on top of
the sidecars started before them, pod-level requests replace the sums, overhead is added, and a resize in flight counts
with the larger of what was asked for, what was allocated and what runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.quantity import milli_value, value

Requests = dict[str, int]

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
EPHEMERAL_STORAGE = "ephemeral-storage"
HUGE_PAGES_PREFIX = "hugepages-"

# What a container without a request counts for in scores (not in filters): pkg/scheduler/util/pod_resources.go.
NON_ZERO_REQUESTS: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024}


@lru_cache(maxsize=4096)
def amount(resource: str, quantity: str | int | float) -> int:
    """A quantity as the int it counts for; cached, because a cluster's pods share a few dozen spellings."""
    return milli_value(str(quantity)) if resource == CPU else value(str(quantity))


def amounts(quantities: Mapping[str, Any] | None) -> Requests:
    """A resource list in ints."""
    return {name: amount(name, quantity) for name, quantity in (quantities or {}).items()}


def is_scalar(resource: str) -> bool:
    """Whether NodeInfo counts it by name: extended, huge pages, prefixed native and attachable volumes."""
    return ("/" in resource and not resource.startswith("requests.")) or resource.startswith(
        (HUGE_PAGES_PREFIX, "attachable-volumes-")
    )


def pod_requests(
    pod: ReadOnlyObject, non_missing: Mapping[str, int] | None = None, *, use_status: bool = True
) -> Requests:
    """The requests of the whole pod; `non_missing` stands in for what a container does not ask for."""
    spec = pod.get("spec") or {}
    running = _running_resources(pod) if use_status else {}
    is_infeasible = bool(running) and _is_resize_infeasible(pod)
    totals: Requests = {}
    for container in spec.get("containers") or ():
        _add(totals, _container_requests(container, running, is_infeasible, non_missing))
    _raise_to(totals, _init_requests(spec, totals, running, is_infeasible, non_missing))
    pod_level = (spec.get("resources") or {}).get("requests") or {}
    totals.update({name: amount(name, quantity) for name, quantity in pod_level.items() if is_pod_level(name)})
    _add(totals, amounts(spec.get("overhead")))
    return totals


def non_zero_requests(pod: ReadOnlyObject, requests: Requests) -> tuple[int, int]:
    """CPU and memory for scoring: containers that ask for nothing count with the defaults."""
    pod_level = ((pod.get("spec") or {}).get("resources") or {}).get("requests") or {}
    if any(is_pod_level(name) for name in pod_level):
        missing = {name: default for name, default in NON_ZERO_REQUESTS.items() if name not in requests}
    else:
        missing = dict(NON_ZERO_REQUESTS)
    is_missing_anywhere = missing and not (_all_ask_for(missing, pod) and not _is_resize_infeasible(pod))
    scored = pod_requests(pod, missing) if is_missing_anywhere else requests
    return scored.get(CPU, 0), scored.get(MEMORY, 0)


def _all_ask_for(names: Collection[str], pod: ReadOnlyObject) -> bool:
    """Whether every container asks for all of these itself: then nothing is missing, and most pods are such."""
    spec = pod.get("spec") or {}
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            requests = (container.get("resources") or {}).get("requests") or {}
            for name in names:
                if name not in requests:
                    return False
    return True


def is_pod_level(resource: str) -> bool:
    """Whether spec.resources may set it for the pod as a whole."""
    return resource in (CPU, MEMORY) or resource.startswith(HUGE_PAGES_PREFIX)


def request_fields(pod: ReadOnlyObject) -> Sequence[Any]:
    """The parts of a pod its requests depend on: two pods equal in these ask for the same."""
    spec = pod.get("spec") or {}
    return (
        [container.get("resources") for container in spec.get("containers") or ()],
        [(c.get("resources"), c.get("restartPolicy")) for c in spec.get("initContainers") or ()],
        spec.get("resources"),
        spec.get("overhead"),
        request_status(pod),
    )


def request_status(pod: ReadOnlyObject) -> Sequence[Any]:
    """The part of that which its kubelet reports."""
    return _running_resources(pod), _is_resize_infeasible(pod)


def _init_requests(
    spec: Mapping[str, Any],
    totals: Requests,
    running: Mapping[str, Sequence[Mapping[str, Any]]],
    is_infeasible: bool,
    non_missing: Mapping[str, int] | None,
) -> Requests:
    """The highest point of the start phase; sidecars are added to `totals` on the way, because they stay."""
    sidecars: Requests = {}
    peak: Requests = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            requests = _container_requests(container, running, is_infeasible, non_missing)
            _add(totals, requests)
            _add(sidecars, requests)
            _raise_to(peak, sidecars)
        else:
            requests = _container_requests(container, {}, False, non_missing)
            _add(requests, sidecars)
            _raise_to(peak, requests)
    return peak


def _container_requests(
    container: Mapping[str, Any],
    running: Mapping[str, Sequence[Mapping[str, Any]]],
    is_infeasible: bool,
    non_missing: Mapping[str, int] | None,
) -> Requests:
    requests = amounts((container.get("resources") or {}).get("requests"))
    in_effect = running.get(container.get("name", ""))
    if in_effect is not None:
        requests = {} if is_infeasible else requests
        for actual in in_effect:
            _raise_to(requests, amounts(actual))
    for name, default in (non_missing or {}).items():
        requests.setdefault(name, default)
    return requests


def _running_resources(pod: ReadOnlyObject) -> dict[str, Sequence[Mapping[str, Any]]]:
    """By container: the requests that run and those that are allocated, where the kubelet reports them."""
    status = pod.get("status") or {}
    return {
        reported["name"]: (reported["resources"].get("requests") or {}, reported.get("allocatedResources") or {})
        for field in ("containerStatuses", "initContainerStatuses")
        for reported in status.get(field) or ()
        if reported.get("resources") is not None
    }


def _is_resize_infeasible(pod: ReadOnlyObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    pending = next((condition for condition in conditions if condition.get("type") == "PodResizePending"), None)
    return pending is not None and pending.get("reason") == "Infeasible"


def _add(totals: Requests, requests: Mapping[str, int]) -> None:
    for name, asked in requests.items():
        totals[name] = totals.get(name, 0) + asked


def _raise_to(totals: Requests, requests: Mapping[str, int]) -> None:
    for name, asked in requests.items():
        if asked > totals.get(name, -1):
            totals[name] = asked
