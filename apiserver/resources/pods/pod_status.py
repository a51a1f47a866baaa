"""What a kubelet may report: conditions, addresses, and states that do not come back to life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_subdomain,
    check_immutable,
    check_ip,
    check_one_of,
    check_qualified_name,
    check_user_id,
)
from apiserver.resources.pods.annotations import check_annotation_changes
from apiserver.resources.pods.claim_status import check_claim_statuses, check_extended_claim
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
STATUS_LISTS = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)
HEALTH = ("Healthy", "Unhealthy", "Unknown")
MAX_HEALTH_MESSAGE = 1024
NOT_NEGATIVE = "must be a non-negative integer"


def prepare(new: Object, old: Object) -> None:
    """Owners stay (old kubelets garble them), and what an older client does not know is not lost."""
    if "ownerReferences" in old["metadata"]:
        new["metadata"]["ownerReferences"] = old["metadata"]["ownerReferences"]
    else:
        new["metadata"].pop("ownerReferences", None)
    status, before = new.setdefault("status", {}), old.get("status") or NO_FIELDS
    status.pop("nodeAllocatableResourceClaimStatuses", None)  # behind a feature gate that is off in v1.36
    if not status.get("qosClass") and before.get("qosClass"):
        status["qosClass"] = before["qosClass"]
    _keep_observed_generations(status, before)


def check_pod_status_update(new: Object, old: Object, errors: Errors) -> None:
    check_annotation_changes(new, old, errors)
    status, before = new.get("status") or NO_FIELDS, old.get("status") or NO_FIELDS
    _check_conditions(status.get("conditions") or NO_ITEMS, "status.conditions", errors)
    _check_nominated_node(status, before, old["spec"], errors)
    if status.get("observedGeneration", 0) < 0:
        errors.append(field.invalid("status.observedGeneration", status["observedGeneration"], NOT_NEGATIVE))
    check_immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass", errors)
    for list_name, kind in STATUS_LISTS:
        if before.get(list_name):
            _check_no_resurrection(status, before, list_name, kind, old["spec"], errors)
    check_claim_statuses(status, new["spec"], errors)
    check_extended_claim(status.get("extendedResourceClaimStatus"), new["spec"], errors)
    _check_addresses(status, errors)
    for list_name, _ in STATUS_LISTS:
        if status.get(list_name):
            _check_users(status, list_name, new["spec"], errors)
    for list_name, kind in STATUS_LISTS:
        if status.get(list_name):
            _check_device_health(status, list_name, kind, new["spec"], errors)


def _keep_observed_generations(status: Object, before: Json) -> None:
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    former = before.get("conditions") or NO_ITEMS
    if not any(condition.get("observedGeneration") for condition in former):
        return
    known: dict[str, list[int]] = {}
    for condition in former:
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or NO_ITEMS:
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _check_conditions(conditions: Sequence[Json], path: str, errors: Errors) -> None:
    for i, condition in enumerate(conditions):
        if condition.get("observedGeneration", 0) < 0:
            at = f"{path}[{i}].observedGeneration"
            errors.append(field.invalid(at, condition["observedGeneration"], NOT_NEGATIVE))
        kind = condition.get("type", "")
        if kind not in SYSTEM_CONDITIONS:
            check_qualified_name(kind, f"{path}[{i}].Type", errors)


def _check_nominated_node(status: Json, before: Json, old_spec: Json, errors: Errors) -> None:
    name, path = status.get("nominatedNodeName", ""), "status.nominatedNodeName"
    if not name or name == before.get("nominatedNodeName", ""):
        return
    check_dns_subdomain(name, path, errors)
    if old_spec.get("nodeName"):
        errors.append(field.forbidden(path, "may not be set on pods that are already bound to a node"))


def _check_no_resurrection(status: Json, before: Json, list_name: str, kind: str, spec: Json, errors: Errors) -> None:
    """A container that ended runs again only where its restart policy says so."""
    formerly = [(former, (former.get("state") or NO_FIELDS).get("terminated")) for former in before[list_name]]
    if all(ended is None for _, ended in formerly) or (kind != "ephemeralContainers" and _all_may_restart(spec)):
        return
    now = {s.get("name"): s for s in status.get(list_name) or NO_ITEMS}
    containers = {c.get("name"): c for c in spec.get(kind) or NO_ITEMS}
    for i, (former, ended) in enumerate(formerly):
        current = now.get(former.get("name"))
        if ended is None or current is None or "terminated" in (current.get("state") or NO_FIELDS):
            continue
        container = containers.get(former.get("name")) if kind != "ephemeralContainers" else None
        if container is None or not _may_restart(container, spec, ended.get("exitCode", 0)):
            reason = "may not be transitioned to non-terminated state"
            errors.append(field.forbidden(f"status.{list_name}[{i}].state", reason))


def _all_may_restart(spec: Json) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for list_name in ("initContainers", "containers")
        for container in spec.get(list_name) or NO_ITEMS
        for rule in container.get("restartPolicyRules") or NO_ITEMS
    )


def _may_restart(container: Json, spec: Json, exit_code: int) -> bool:
    policy = spec.get("restartPolicy", "Always")
    if "restartPolicy" in container:
        for rule in container.get("restartPolicyRules") or NO_ITEMS:
            codes = rule.get("exitCodes") or NO_FIELDS
            listed = exit_code in (codes.get("values") or NO_ITEMS)
            if listed == (codes.get("operator") == "In"):
                return True
        policy = container["restartPolicy"]
    return bool(policy == "Always" or (policy == "OnFailure" and exit_code != 0))


def _check_addresses(status: Json, errors: Errors) -> None:
    _check_ip_list(status.get("podIPs") or NO_ITEMS, "status.podIPs", errors)
    host_ips = status.get("hostIPs") or NO_ITEMS
    if host_ips and status.get("hostIP", "") != host_ips[0].get("ip", ""):
        first = host_ips[0].get("ip", "")
        errors.append(field.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    _check_ip_list(host_ips, "status.hostIPs", errors)


def _check_ip_list(items: Sequence[Json], path: str, errors: Errors) -> None:
    texts = [item.get("ip", "") for item in items]
    for i, text in enumerate(texts):
        check_ip(text, f"{path}[{i}]", errors)
    if len(texts) > 1:
        families: set[int] = set()
        for i, text in enumerate(texts):
            address = addresses.parse_sloppily(text)
            if address is None:
                why = f"invalid IP[{i}]: {text}"
                errors.append(field.internal(path, f"failed to check for dual stack with error:{why}"))
                families.clear()
                break
            families.add(addresses.family_of(address))
        if len(families) < 2 or len(texts) > 2:
            reason = "may specify no more than one IP for each IP family"
            errors.append(field.invalid(path, [{"IP": text} for text in texts], reason))


def _check_users(status: Json, list_name: str, spec: Json, errors: Errors) -> None:
    on_windows = (spec.get("os") or NO_FIELDS).get("name") == "windows"
    for i, container in enumerate(status[list_name]):
        user = (container.get("user") or NO_FIELDS).get("linux")
        if user is None:
            continue
        at = f"status.{list_name}[{i}].user.linux"
        if on_windows:
            errors.append(field.forbidden(at, "cannot be set for a windows pod"))
            continue
        check_user_id(user.get("uid", 0), f"{at}.uid", errors)
        check_user_id(user.get("gid", 0), f"{at}.gid", errors)
        for j, group in enumerate(user.get("supplementalGroups") or NO_ITEMS):
            check_user_id(group, f"{at}.supplementalGroups[{j}]", errors)


def _check_device_health(status: Json, list_name: str, kind: str, spec: Json, errors: Errors) -> None:
    for i, container in enumerate(status[list_name]):
        reports = container.get("allocatedResourcesStatus")
        if not reports:
            continue
        at = f"status.{list_name}[{i}].allocatedResourcesStatus"
        if kind == "ephemeralContainers":
            errors.append(field.forbidden(at, "must not be specified in container status"))
            continue
        described = next((c for c in reversed(spec.get(kind) or []) if c.get("name") == container.get("name")), None)
        for j, report in enumerate(reports):
            _check_report(report, described, f"{at}[{j}]", errors)


def _check_report(report: Json, container: Json | None, path: str, errors: Errors) -> None:
    name = report.get("name", "")
    if container is not None:
        resources = container.get("resources") or NO_FIELDS
        if name.startswith("claim:"):
            claims = resources.get("claims") or NO_ITEMS
            known = {f"claim:{c.get('name', '')}" + (f"/{c['request']}" if c.get("request") else "") for c in claims}
            reason = (
                "must match one of the container's resource claims in a format "
                "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
            )
        else:
            known = set(resources.get("requests") or NO_FIELDS)
            reason = "must match one of the container's resource requests"
        if name not in known:
            errors.append(field.invalid(f"{path}.name", name, reason))
    seen: set[str] = set()
    for k, resource in enumerate(report.get("resources") or NO_ITEMS):
        check_one_of(resource.get("health", ""), HEALTH, f"{path}.resources[{k}].health", errors)
        _check_health_message(resource.get("message"), f"{path}.resources[{k}].message", errors)
        resource_id = resource.get("resourceID", "")
        if resource_id in seen:
            errors.append(field.duplicate(f"{path}.resources[{k}].resourceID", resource_id))
        seen.add(resource_id)


def _check_health_message(message: str | None, path: str, errors: Errors) -> None:
    if message == "":
        errors.append(field.required(path, "must be non-empty if specified"))
    elif message is not None and len(message.encode()) > MAX_HEALTH_MESSAGE:
        errors.append(field.too_long(path, MAX_HEALTH_MESSAGE))
