"""What a ResourceClaim asks for: requests of devices, constraints between them, and parameters for their drivers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_dns_label, check_dns_subdomain
from apiserver.resources.dynamic_resources.device_checks import (
    MAX_CONFIGURATIONS,
    MAX_REQUESTS,
    MAX_SELECTORS,
    check_configuration,
    check_full_attribute_name,
    check_list,
    check_selector,
    check_toleration,
    name_of,
)
from apiserver.resources.filling import fill_empty
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_ALTERNATIVES = 8
MAX_CONSTRAINTS = 32
ALLOCATION_MODES = ("All", "ExactCount")
NO_SUCH_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"


def default_claim_spec(spec: Object) -> None:
    for request in spec.setdefault("devices", {}).get("requests") or NO_ITEMS:
        asked = [request["exactly"]] if "exactly" in request else []
        for part in asked + (request.get("firstAvailable") or []):
            fill_empty(part, {"allocationMode": "ExactCount"})
            if part["allocationMode"] == "ExactCount":
                fill_empty(part, {"count": 1})
            for toleration in part.get("tolerations") or NO_ITEMS:
                fill_empty(toleration, {"operator": "Equal"})


def check_claim_spec(spec: Json, path: str, errors: Errors) -> None:
    devices, at = spec.get("devices") or NO_FIELDS, f"{path}.devices"
    check_reference = partial(check_request_reference, request_names(spec))

    def check_constraint(constraint: Json, path: str, errors: Errors) -> None:
        requests = constraint.get("requests")
        check_list(requests, MAX_REQUESTS, check_reference, f"{path}.requests", errors, key=str)
        _check_attribute(constraint, path, errors)

    def check_requests_and_configuration(configuration: Json, path: str, errors: Errors) -> None:
        requests = configuration.get("requests")
        check_list(requests, MAX_REQUESTS, check_reference, f"{path}.requests", errors, key=str)
        check_configuration(configuration, path, errors)

    check_list(devices.get("requests"), MAX_REQUESTS, _check_request, f"{at}.requests", errors, key=name_of)
    check_list(devices.get("constraints"), MAX_CONSTRAINTS, check_constraint, f"{at}.constraints", errors)
    configurations = devices.get("config")
    check_list(configurations, MAX_CONFIGURATIONS, check_requests_and_configuration, f"{at}.config", errors)


def request_names(spec: Json) -> frozenset[str]:
    """The names by which requests can be referred to: `gpu`, and `gpu/large` for one of its alternatives."""
    names = set()
    for request in (spec.get("devices") or NO_FIELDS).get("requests") or NO_ITEMS:
        names.add(name_of(request))
        names.update(f"{name_of(request)}/{name_of(part)}" for part in request.get("firstAvailable") or NO_ITEMS)
    return frozenset(names)


def check_request_reference(known: frozenset[str], name: str, path: str, errors: Errors) -> None:
    parts = name.split("/")
    if len(parts) > 2:
        errors.append(field.invalid(path, name, NO_SUCH_REQUEST))
        return
    for part in parts:
        check_dns_label(part, path, errors)
    if name not in known:
        errors.append(field.invalid(path, name, NO_SUCH_REQUEST))


def _check_request(request: Json, path: str, errors: Errors) -> None:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    check_dns_label(name_of(request), f"{path}.name", errors)
    if exactly is None and not alternatives:
        errors.append(field.required(path, ONE_KIND))
    elif exactly is not None and alternatives:
        errors.append(field.invalid(path, None, f"{ONE_KIND}, but multiple fields are set"))
    elif exactly is not None:
        _check_devices(exactly, f"{path}.exactly", errors)
    else:
        at = f"{path}.firstAvailable"
        check_list(alternatives, MAX_ALTERNATIVES, _check_alternative, at, errors, key=name_of)


def _check_alternative(request: Json, path: str, errors: Errors) -> None:
    check_dns_label(name_of(request), f"{path}.name", errors)
    _check_devices(request, path, errors)


def _check_devices(request: Json, path: str, errors: Errors) -> None:
    if class_name := request.get("deviceClassName"):
        check_dns_subdomain(class_name, f"{path}.deviceClassName", errors)
    else:
        errors.append(field.required(f"{path}.deviceClassName"))
    check_list(request.get("selectors"), MAX_SELECTORS, check_selector, f"{path}.selectors", errors)
    _check_allocation(request.get("allocationMode", ""), request.get("count", 0), path, errors)
    for i, toleration in enumerate(request.get("tolerations") or NO_ITEMS):
        check_toleration(toleration, f"{path}.tolerations[{i}]", errors)


def _check_allocation(mode: str, count: int, path: str, errors: Errors) -> None:
    if mode == "All":
        if count:
            reason = "must not be specified when allocationMode is 'All'"
            errors.append(field.invalid(f"{path}.count", count, reason))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(field.invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(field.not_supported(f"{path}.allocationMode", mode, ALLOCATION_MODES))


def _check_attribute(constraint: Json, path: str, errors: Errors) -> None:
    for name in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(name)) is not None:
            check_full_attribute_name(attribute, f"{path}.{name}", errors)
            return
    reason = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    errors.append(field.required(path, reason))
