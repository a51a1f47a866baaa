"""What Kubernetes checks of a pod spec, in its order: the contents page of this folder.

A Pod and the templates of all workloads have one; `is_pod` tells which of the two this is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_in_range,
    check_labels,
    check_qualified_name,
)
from apiserver.resources.pods.affinity import check_affinity, check_spread_constraints
from apiserver.resources.pods.containers import (
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from apiserver.resources.pods.dns import check_dns_config, check_host_aliases, check_hostname_override
from apiserver.resources.pods.operating_system import check_operating_system
from apiserver.resources.pods.pod_resources import check_pod_resources
from apiserver.resources.pods.security_context import check_pod_security_context
from apiserver.resources.pods.surroundings import Surroundings, all_containers
from apiserver.resources.pods.tolerations import check_tolerations
from apiserver.resources.pods.windows_options import check_host_processes
from apiserver.resources.resource_lists import check_requirements
from apiserver.resources.resource_names import check_container_resource_name
from apiserver.resources.volumes.pod_volumes import check_volumes
from kubeloop.apimachinery import field
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION

Json = Mapping[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
MAX_INT32 = 2**31 - 1
NO_NAMES: frozenset[str] = frozenset()


def check_pod_spec(spec: Json, metadata: Json, is_pod: bool, path: str, errors: Errors) -> None:
    """`metadata` is the pod's own; it counts for a pod only, the names in a template are not yet known."""
    if "terminationGracePeriodSeconds" not in spec:
        errors.append(field.required(f"{path}.terminationGracePeriodSeconds"))
    pod_name = metadata.get("name", "") if is_pod else ""
    volumes = check_volumes(spec.get("volumes") or NO_ITEMS, pod_name, is_pod, f"{path}.volumes", errors)
    around = _surroundings(spec, volumes, is_pod)
    if claims := spec.get("resourceClaims"):
        is_mirror = is_pod and MIRROR_ANNOTATION in (metadata.get("annotations") or NO_FIELDS)
        _check_claims(claims, is_mirror, f"{path}.resourceClaims", errors)
    _check_all_containers(spec, around, path, errors)
    if "resources" in spec:
        check_pod_resources(spec, around.claim_names, path, errors)
    if spec.get("hostNetwork"):
        _check_host_ports_match(spec, is_pod, path, errors)
    check_choice(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy", errors)
    check_choice(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy", errors)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", errors)
    if context := spec.get("securityContext"):
        check_pod_security_context(context, spec, f"{path}.securityContext", errors)
    elif spec.get("shareProcessNamespace"):
        check_pod_security_context(NO_FIELDS, spec, f"{path}.securityContext", errors)
    if affinity := spec.get("affinity"):
        check_affinity(affinity, f"{path}.affinity", errors)
    check_dns_config(spec.get("dnsConfig"), spec.get("dnsPolicy", ""), f"{path}.dnsConfig", errors)
    _check_gates(spec, path, errors)
    if constraints := spec.get("topologySpreadConstraints"):
        check_spread_constraints(constraints, f"{path}.topologySpreadConstraints", errors)
    check_host_processes(spec, path, errors)
    if spec.get("hostUsers") is False:
        _check_own_users(spec, path, errors)
    check_hostname_override(spec, path, errors)
    _check_names(spec, path, errors)
    _check_scheduling(spec, path, errors)
    if overhead := spec.get("overhead"):
        check_requirements({"limits": overhead}, check_container_resource_name, NO_NAMES, f"{path}.overhead", errors)
    if "os" in spec:
        check_operating_system(spec, path, errors)
    _check_file_variables(spec, path, errors)


def _surroundings(spec: Json, volumes: Json, is_pod: bool) -> Surroundings:
    claims = spec.get("resourceClaims")
    return Surroundings(
        volumes=volumes,
        claim_names=frozenset(c["name"] for c in claims if c.get("name")) if claims else NO_NAMES,
        grace_period=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
        os_name=(spec.get("os") or NO_FIELDS).get("name"),
        is_pod=is_pod,
    )


def _check_all_containers(spec: Json, around: Surroundings, path: str, errors: Errors) -> None:
    containers = spec.get("containers") or NO_ITEMS
    check_containers(containers, around, f"{path}.containers", errors)
    init_containers, ephemeral = spec.get("initContainers"), spec.get("ephemeralContainers")
    if not init_containers and not ephemeral:
        return
    names = {container.get("name", "") for container in containers}
    check_init_containers(init_containers or NO_ITEMS, names, around, f"{path}.initContainers", errors)
    names.update(container.get("name", "") for container in init_containers or NO_ITEMS)
    check_ephemeral_containers(ephemeral or NO_ITEMS, names, around, f"{path}.ephemeralContainers", errors)


def _check_claims(claims: Sequence[Json], is_mirror: bool, path: str, errors: Errors) -> None:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        if is_mirror:
            errors.append(field.forbidden("", "static pods do not support resource claims"))
            continue
        at, name = f"{path}[{i}]", claim.get("name", "")
        if not name:
            errors.append(field.required(f"{at}.name"))
        elif name in names:
            errors.append(field.duplicate(f"{at}.name", name))
        else:
            check_dns_label(name, f"{at}.name", errors)
            names.add(name)
        sources = [member for member in ("resourceClaimName", "resourceClaimTemplateName") if member in claim]
        if len(sources) != 1:
            reason = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if sources
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            errors.append(field.invalid(at, _go_claim(claim), reason))
        for member in sources:
            check_dns_subdomain(claim[member], f"{at}.{member}", errors)


def _go_claim(claim: Json) -> Json:
    return {
        "Name": claim.get("name", ""),
        "ResourceClaimName": claim.get("resourceClaimName"),
        "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
    }


def _check_host_ports_match(spec: Json, is_pod: bool, path: str, errors: Errors) -> None:
    """On the host's network a container's port is the host's port; a template may leave the latter out."""
    for i, container in enumerate(spec.get("containers") or NO_ITEMS):
        for j, port in enumerate(container.get("ports") or NO_ITEMS):
            host_port = port.get("hostPort", 0)
            if (is_pod or host_port) and host_port != port.get("containerPort", 0):
                reason = "must match `containerPort` when `hostNetwork` is true"
                at = f"{path}.containers[{i}].ports[{j}].hostPort"
                errors.append(field.invalid(at, host_port, reason))


def _check_gates(spec: Json, path: str, errors: Errors) -> None:
    for i, gate in enumerate(spec.get("readinessGates") or NO_ITEMS):
        at = f"{path}.readinessGates[{i}].conditionType"
        check_qualified_name(gate.get("conditionType", ""), at, errors)
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or NO_ITEMS):
        at, name = f"{path}.schedulingGates[{i}]", gate.get("name", "")
        check_qualified_name(name, at, errors)
        if name in seen:
            errors.append(field.duplicate(at, name))
        seen.add(name)


def _check_own_users(spec: Json, path: str, errors: Errors) -> None:
    """A pod with users of its own shares little else with the host."""
    reason = "when `hostUsers` is false"
    if spec.get("hostNetwork"):
        errors.append(field.forbidden(f"{path}.hostNetwork", reason))
    if spec.get("hostPID"):
        errors.append(field.forbidden(f"{path}.HostPID", reason))
    if spec.get("hostIPC"):
        errors.append(field.forbidden(f"{path}.HostIPC", reason))
    for container, at in all_containers(spec, path):
        if container.get("volumeDevices"):
            errors.append(field.forbidden(f"{at}.volumeDevices", reason))


def _check_names(spec: Json, path: str, errors: Errors) -> None:
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            check_dns_subdomain(spec[name], f"{path}.{name}", errors)
    if "activeDeadlineSeconds" in spec:
        check_in_range(spec["activeDeadlineSeconds"], 1, MAX_INT32, f"{path}.activeDeadlineSeconds", errors)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            check_dns_label(spec[name], f"{path}.{name}", errors)


def _check_scheduling(spec: Json, path: str, errors: Errors) -> None:
    if tolerations := spec.get("tolerations"):
        check_tolerations(tolerations, f"{path}.tolerations", errors)
    if aliases := spec.get("hostAliases"):
        check_host_aliases(aliases, f"{path}.hostAliases", errors)
    if spec.get("priorityClassName"):
        check_dns_subdomain(spec["priorityClassName"], f"{path}.priorityClassName", errors)
    if "runtimeClassName" in spec:
        check_dns_subdomain(spec["runtimeClassName"], f"{path}.runtimeClassName", errors)
    if "preemptionPolicy" in spec:
        check_choice(spec["preemptionPolicy"], PREEMPTION_POLICIES, f"{path}.preemptionPolicy", errors)


def _check_file_variables(spec: Json, path: str, errors: Errors) -> None:
    """Variables from a file come from an emptyDir of the pod."""
    volumes: dict[str, Json] | None = None
    for container, at in all_containers(spec, path):
        for i, variable in enumerate(container.get("env") or NO_ITEMS):
            reference = (variable.get("valueFrom") or NO_FIELDS).get("fileKeyRef")
            if reference is None:
                continue
            if volumes is None:
                volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or NO_ITEMS}
            name = reference.get("volumeName", "")
            name_path = f"{at}.env[{i}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                errors.append(field.not_found(name_path, name))
            elif "emptyDir" not in volumes[name]:
                errors.append(field.invalid(name_path, name, "referenced volume must be of type emptyDir"))
