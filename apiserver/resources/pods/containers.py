"""What is asked of every container: a name, an image, ports, an environment, volumes, resources.

`check_containers` is for those that run side by side, `check_init_containers` for those before them (sidecars among
them), `check_ephemeral_containers` for those that debug a running pod.
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
    check_port_number,
    check_with,
)
from apiserver.resources.pods.environment import check_variable_sources, check_variables
from apiserver.resources.pods.handlers import check_container_handlers
from apiserver.resources.pods.mounts import check_volume_devices, check_volume_mounts
from apiserver.resources.pods.restart_rules import check_init_restart_rules, check_restart_rules
from apiserver.resources.pods.security_context import check_security_context
from apiserver.resources.pods.surroundings import Surroundings
from apiserver.resources.resource_lists import check_requirements
from apiserver.resources.resource_names import check_container_resource_name
from apiserver.resources.volumes.pod_sources import check_pull_policy
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
RESIZABLE = ("cpu", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")
ONLY_FOR_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
# In the order of Kubernetes' struct.
NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
# Of these even an empty value is one.
POINTERS = frozenset({"restartPolicy", *ONLY_FOR_SIDECARS})


def check_containers(containers: Sequence[Json], around: Surroundings, path: str, errors: Errors) -> None:
    if not containers:
        errors.append(field.required(path))
        return
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        _check_any_container(container, around, at, errors)
        name = container.get("name", "")
        if name in names:
            errors.append(field.duplicate(f"{at}.name", name))
        names.add(name)
        check_container_handlers(container, around.grace_period, at, errors)
        check_restart_rules(container, at, errors)
    _check_host_ports(containers, path, errors)


def check_init_containers(
    containers: Sequence[Json], names: set[str], around: Surroundings, path: str, errors: Errors
) -> None:
    """`names` are those of the other containers; the init containers' own are added."""
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        is_sidecar = container.get("restartPolicy") == "Always"
        _check_any_container(container, around, at, errors)
        check_init_restart_rules(container, at, errors)
        name = container.get("name", "")
        if name in names:
            errors.append(field.duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
        _check_host_ports([container], path, errors)
        if is_sidecar:
            check_container_handlers(container, around.grace_period, at, errors)
            continue
        for member in ONLY_FOR_SIDECARS:
            if member in container:
                reason = "may not be set for init containers without restartPolicy=Always"
                errors.append(field.forbidden(f"{at}.{member}", reason))
        for j, policy in enumerate(container.get("resizePolicy") or NO_ITEMS):
            if policy.get("restartPolicy") == "RestartContainer":
                reason = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                errors.append(field.invalid(f"{at}.resizePolicy[{j}].restartPolicy", policy["restartPolicy"], reason))


def check_ephemeral_containers(
    containers: Sequence[Json], names: set[str], around: Surroundings, path: str, errors: Errors
) -> None:
    targets = frozenset(names)
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        _check_any_container(container, around, at, errors)
        check_image_spelling(container, at, errors)
        name, target = container.get("name", ""), container.get("targetContainerName")
        if name in names:
            errors.append(field.duplicate(f"{at}.name", name))
        names.add(name)
        if target and target not in targets:
            errors.append(field.not_found(f"{at}.targetContainerName", target))
        for member in NOT_EPHEMERAL:
            if container.get(member) or (member in POINTERS and member in container):
                reason = "cannot be set for an Ephemeral Container"
                errors.append(field.forbidden(f"{at}.{member}", reason))
        for j, mount in enumerate(container.get("volumeMounts") or NO_ITEMS):
            for member in ("subPath", "subPathExpr"):
                if mount.get(member):
                    reason = "cannot be set for an Ephemeral Container"
                    errors.append(field.forbidden(f"{at}.volumeMounts[{j}].{member}", reason))


def check_image_spelling(container: Json, path: str, errors: Errors) -> None:
    """Asked of pods only: templates may have blanks around an image, for what old objects have."""
    image = container.get("image", "")
    if image != image.strip():
        reason = "must not have leading or trailing whitespace"
        errors.append(field.invalid(f"{path}.image", image, reason))


def _check_any_container(container: Json, around: Surroundings, path: str, errors: Errors) -> None:
    if name := container.get("name"):
        check_dns_label(name, f"{path}.name", errors)
    else:
        errors.append(field.required(f"{path}.name"))
    if not container.get("image"):
        errors.append(field.required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    check_choice(policy, MESSAGE_POLICIES, f"{path}.terminationMessagePolicy", errors)
    if ports := container.get("ports"):
        _check_ports(ports, f"{path}.ports", errors)
    if variables := container.get("env"):
        check_variables(variables, f"{path}.env", errors)
    if sources := container.get("envFrom"):
        check_variable_sources(sources, f"{path}.envFrom", errors)
    if mounts := container.get("volumeMounts"):
        check_volume_mounts(mounts, container, around, f"{path}.volumeMounts", errors)
    if devices := container.get("volumeDevices"):
        check_volume_devices(devices, container, around, f"{path}.volumeDevices", errors)
    check_pull_policy(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", errors)
    if resources := container.get("resources"):
        names = around.claim_names
        check_requirements(resources, check_container_resource_name, names, f"{path}.resources", errors)
    if policies := container.get("resizePolicy"):
        _check_resize_policies(policies, around.restart_policy, f"{path}.resizePolicy", errors)
    if context := container.get("securityContext", NO_FIELDS):
        check_security_context(context, around.host_users, f"{path}.securityContext", errors)


def _check_ports(ports: Sequence[Json], path: str, errors: Errors) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        at = f"{path}[{i}]"
        if name := port.get("name"):
            reasons = validation.port_name_errors(name)
            check_with(reasons, name, f"{at}.name", errors)
            if not reasons and name in names:
                errors.append(field.duplicate(f"{at}.name", name))
            elif not reasons:
                names.add(name)
        if number := port.get("containerPort"):
            check_port_number(number, f"{at}.containerPort", errors)
        else:
            errors.append(field.required(f"{at}.containerPort"))
        if host_port := port.get("hostPort"):
            check_port_number(host_port, f"{at}.hostPort", errors)
        check_choice(port.get("protocol"), PROTOCOLS, f"{at}.protocol", errors)


def _check_host_ports(containers: Sequence[Json], path: str, errors: Errors) -> None:
    """One port of the host serves one container port only."""
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or NO_ITEMS):
            if not port.get("hostPort"):
                continue
            place = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if place in taken:
                errors.append(field.duplicate(f"{path}[{i}].ports[{j}].hostPort", place))
            taken.add(place)


def _check_resize_policies(policies: Sequence[Json], pod_restart: str, path: str, errors: Errors) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(field.duplicate(f"{path}[{i}]", name))
        seen.add(name)
        check_choice(name, RESIZABLE, path, errors)
        check_choice(restart, RESIZE_POLICIES, path, errors)
        if pod_restart == "Never" and restart != "NotRequired":
            reason = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(field.invalid(path, restart, reason))
