"""Resources of a pod as a whole: what its containers add up to, defaults, and the quality-of-service class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors
from apiserver.resources.resource_lists import check_requirements
from apiserver.resources.resource_names import (
    POD_LEVEL_RESOURCES,
    check_pod_resource_name,
    is_huge_pages,
    may_be_overcommitted,
)
from kubeloop.apimachinery import field, quantity
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import Quantity

Json = Mapping[str, Any]
Amounts = dict[str, Quantity]

COMPUTE = ("cpu", "memory")


def sum_of_containers(spec: Json, kind: str) -> Amounts:
    """What all containers together need at their most demanding moment; `kind` is `requests` or `limits`.

    Sidecars add to everything that starts after them; other init containers run alone with the sidecars before them.
    """
    total: Amounts = {}
    for container in spec.get("containers") or NO_ITEMS:
        _add(total, _amounts(container, kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or NO_ITEMS:
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            moment = sidecars
        else:
            moment = dict(amounts)
            _add(moment, sidecars)
        _raise_to(peak, moment)
    _raise_to(total, peak)
    return total


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
        if name not in requests and _is_pod_level(name) and may_be_overcommitted(name):
            requests[name] = str(amount)
    for name, text in resources["limits"].items():
        if name not in requests and _is_pod_level(name):
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
    requests: Amounts = {}
    limits: Amounts = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources")
        if not resources:
            guaranteed = False
            continue
        _add(requests, _positive_compute(resources.get("requests")))
        limited = _positive_compute(resources.get("limits"))
        _add(limits, limited)
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
        for name, amount in _amounts(container, "limits").items():
            if name in limits and amount > quantity.parse(limits[name]):
                reason = f"must be less than or equal to pod limits of {limits[name]}"
                at = f"{path}.containers[{i}][{name}].limits"
                errors.append(field.invalid(at, str(amount), reason))


def _is_pod_level(name: str) -> bool:
    return name in POD_LEVEL_RESOURCES or is_huge_pages(name)


def _positive_compute(amounts: Json | None) -> Amounts:
    if not amounts:
        return {}
    parsed = {name: quantity.parse(amounts[name]) for name in COMPUTE if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount.sign > 0}


def _amounts(container: Json, kind: str) -> Amounts:
    listed = (container.get("resources") or {}).get(kind) or {}
    return {name: quantity.parse(text) for name, text in listed.items()}


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
