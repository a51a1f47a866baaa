"""Resources of a pod as a whole: what its containers add up to, defaults, and the quality-of-service class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.resource_lists import check_requirements
from apiserver.resources.resource_names import (
    check_pod_resource_name,
    is_huge_pages,
    may_be_overcommitted,
)
from kubeloop.apimachinery import field, quantity
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_resources import Quantities, add, is_pod_level, pod_limits, pod_requests, quantities

Json = Mapping[str, Any]

COMPUTE = ("cpu", "memory")


def sum_of_containers(spec: Json, kind: str) -> Quantities:
    """What all containers together need at their most demanding moment; `kind` is `requests` or `limits`."""
    containers = {name: spec[name] for name in ("containers", "initContainers") if name in spec}
    total = pod_requests if kind == "requests" else pod_limits
    return total({"spec": containers})


def default_pod_level_resources(spec: Object) -> None:
    """Pod-level limits give pod-level requests: the containers' sum, or the limit itself."""
    resources = spec["resources"]
    if resources.get("limits") or resources.get("requests"):
        limits = resources.get("limits") or {}
        requested = resources.get("requests") or {}
        for name, amount in sum_of_containers(spec, "limits").items():
            if is_huge_pages(name) and name not in requested and name not in limits:
                limits[name] = str(amount)
        if limits:
            resources["limits"] = limits
    if not resources.get("limits"):
        return
    requests = resources.get("requests") or {}
    for name, amount in sum_of_containers(spec, "requests").items():
        if name not in requests and is_pod_level(name) and may_be_overcommitted(name):
            requests[name] = str(amount)
    for name, text in resources["limits"].items():
        if name not in requests and is_pod_level(name):
            requests[name] = text
    if requests:
        resources["requests"] = requests


def check_pod_resources(spec: Json, claim_names: frozenset[str], path: str, errors: Errors) -> None:
    resources, at = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        errors.append(field.forbidden(at, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        errors.append(field.forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    check_requirements(resources, check_pod_resource_name, claim_names, at, errors)
    _check_containers_fit(spec, resources, at, errors)


def qos_class(spec: Json) -> str:
    """`Guaranteed` where limits equal requests for CPU and memory everywhere, `BestEffort` where there are none."""
    holders: Iterable[Json]
    if "resources" in spec:
        holders = (spec,)
    else:
        holders = (*(spec.get("containers") or NO_ITEMS), *(spec.get("initContainers") or NO_ITEMS))
    requests: Quantities = {}
    limits: Quantities = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources")
        if not resources:
            guaranteed = False
            continue
        requests = add(requests, _positive_compute(resources.get("requests")))
        limited = _positive_compute(resources.get("limits"))
        limits = add(limits, limited)
        if len(limited) < len(COMPUTE):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _check_containers_fit(spec: Json, resources: Json, path: str, errors: Errors) -> None:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in sum_of_containers(spec, "requests").items():
        if name in requests and amount > quantity.parse(requests[name]):
            reason = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.append(field.invalid(f"{path}.requests[{name}]", requests[name], reason))
    for name, amount in sum_of_containers(spec, "limits").items():
        if is_huge_pages(name) and name in limits and amount > quantity.parse(limits[name]):
            reason = f"must be greater than or equal to aggregate container limits of {amount}"
            errors.append(field.invalid(f"{path}.limits[{name}]", limits[name], reason))
    for i, container in enumerate(spec.get("containers") or NO_ITEMS):
        limited = quantities((container.get("resources") or NO_FIELDS).get("limits"))
        for name, amount in limited.items():
            if name in limits and amount > quantity.parse(limits[name]):
                reason = f"must be less than or equal to pod limits of {limits[name]}"
                at = f"{path}.containers[{i}][{name}].limits"
                errors.append(field.invalid(at, str(amount), reason))


def _positive_compute(amounts: Json | None) -> Quantities:
    if not amounts:
        return {}
    parsed = {name: quantity.parse(amounts[name]) for name in COMPUTE if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount.sign > 0}
