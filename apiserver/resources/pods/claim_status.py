"""What a pod's status says of its resource claims: those it names itself, and the one made for extended resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_dns_label, check_dns_subdomain
from kubeloop.apimachinery import field

Json = Mapping[str, Any]


def check_claim_statuses(status: Json, spec: Json, errors: Errors) -> None:
    wanted = {claim.get("name", "") for claim in spec.get("resourceClaims") or NO_ITEMS}
    seen: set[str] = set()
    for i, claim in enumerate(status.get("resourceClaimStatuses") or NO_ITEMS):
        at, name = f"status.resourceClaimStatuses[{i}]", claim.get("name", "")
        if name not in wanted:
            reason = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(field.invalid(f"{at}.name", name, reason))
        if name in seen:
            errors.append(field.duplicate(f"{at}.name", name))
        seen.add(name)
        if "resourceClaimName" in claim:
            check_dns_subdomain(claim["resourceClaimName"], f"{at}.resourceClaimName", errors)


def check_extended_claim(claim: Json | None, spec: Json, errors: Errors) -> None:
    """The claim the scheduler made for extended resources that devices stand behind."""
    if claim is None:
        return
    path = "status.extendedResourceClaimStatus"
    mappings = claim.get("requestMappings") or NO_ITEMS
    if not mappings:
        errors.append(field.required(f"{path}.requestMappings", "at least one request mapping is required"))
    containers = {
        container.get("name", ""): container
        for list_name in ("initContainers", "containers")
        for container in spec.get(list_name) or NO_ITEMS
    }
    seen: set[tuple[str, ...]] = set()
    for i, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{i}]"
        _check_mapping_target(mapping, containers, at, errors)
        check_dns_label(mapping.get("requestName", ""), f"{path}.requestName", errors)
        names = ("containerName", "resourceName", "requestName")
        key = tuple(mapping.get(name, "") for name in names)
        if key in seen:
            errors.extend(field.duplicate(f"{at}.{name}", mapping.get(name, "")) for name in names)
        seen.add(key)
    if name := claim.get("resourceClaimName"):
        check_dns_subdomain(name, f"{path}.resourceClaimName", errors)
    else:
        errors.append(field.required(f"{path}.resourceClaimName"))


def _check_mapping_target(mapping: Json, containers: Mapping[str, Json], path: str, errors: Errors) -> None:
    name, resource = mapping.get("containerName", ""), mapping.get("resourceName", "")
    if name not in containers:
        reason = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        errors.append(field.invalid(f"{path}.containerName", name, reason))
    elif resource not in ((containers[name].get("resources") or NO_FIELDS).get("requests") or NO_FIELDS):
        reason = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests "
            "or spec.containers.resources.requests"
        )
        errors.append(field.invalid(f"{path}.resourceName", resource, reason))
