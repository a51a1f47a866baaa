"""What a pod that says which operating system it is for may not use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors
from apiserver.resources.pods.surroundings import all_containers
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

OPERATING_SYSTEMS = ("linux", "windows")
NOT_ON_WINDOWS = "cannot be set for a windows pod"

# In the order they are reported; the second half of a pair is where the field stands in the spec.
_LINUX_POD_FIELDS = (
    ("appArmorProfile", True),
    ("seLinuxOptions", True),
    ("hostUsers", False),
    ("hostPID", False),
    ("hostIPC", False),
    ("seccompProfile", True),
    ("fsGroup", True),
    ("fsGroupChangePolicy", True),
    ("sysctls", True),
    ("shareProcessNamespace", False),
    ("runAsUser", True),
    ("runAsGroup", True),
    ("supplementalGroups", True),
    ("supplementalGroupsPolicy", True),
    ("seLinuxChangePolicy", True),
)
_TRUTHY_FIELDS = ("hostPID", "hostIPC", "sysctls")
_LINUX_CONTAINER_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def check_operating_system(spec: Json, path: str, errors: Errors) -> None:
    name = spec["os"].get("name", "")
    if not name:
        errors.append(field.required(f"{path}.os.name"))
    elif name not in OPERATING_SYSTEMS:
        errors.append(field.not_supported(f"{path}.os", name, OPERATING_SYSTEMS))
    elif name == "linux":
        _check_linux(spec, path, errors)
    else:
        _check_windows(spec, path, errors)


def _check_linux(spec: Json, path: str, errors: Errors) -> None:
    for holder, at in ((spec, path), *all_containers(spec, path)):
        if "windowsOptions" in (holder.get("securityContext") or {}):
            reason = "windows options cannot be set for a linux pod"
            errors.append(field.forbidden(f"{at}.securityContext.windowsOptions", reason))


def _check_windows(spec: Json, path: str, errors: Errors) -> None:
    context = spec.get("securityContext") or {}
    for name, in_context in _LINUX_POD_FIELDS:
        value = (context if in_context else spec).get(name)
        if value or (value is not None and name not in _TRUTHY_FIELDS):
            at = f"{path}.securityContext.{name}" if in_context else f"{path}.{name}"
            errors.append(field.forbidden(at, NOT_ON_WINDOWS))
    for container, at in all_containers(spec, path):
        own = container.get("securityContext") or {}
        for name in _LINUX_CONTAINER_FIELDS:
            if own.get(name) is not None:
                errors.append(field.forbidden(f"{at}.securityContext.{name}", NOT_ON_WINDOWS))
