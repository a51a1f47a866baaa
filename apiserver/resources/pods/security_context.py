"""Security contexts of pods and containers: users, groups, seccomp, AppArmor, sysctls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors, check_one_of, check_user_id
from apiserver.resources.internal_types import as_internal
from apiserver.resources.pods.windows_options import check_windows_options
from apiserver.resources.volumes.paths import check_descending_path
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
FS_GROUP_POLICIES = ("Always", "OnRootMismatch")
GROUPS_POLICIES = ("Merge", "Strict")
SELINUX_POLICIES = ("Recursive",)  # MountOption is behind a feature gate that is off in v1.36
PROC_MOUNTS = ("Default", "Unmasked")
MAX_PROFILE_LENGTH = 4095  # PATH_MAX - 1
MAX_SYSCTL_LENGTH = 253
SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")

_matches_sysctl = re.compile(SYSCTL).fullmatch


def check_pod_security_context(context: Json, spec: Json, path: str, errors: Errors) -> None:
    check_user_id(context.get("fsGroup"), f"{path}.fsGroup", errors)
    check_user_id(context.get("runAsUser"), f"{path}.runAsUser", errors)
    check_user_id(context.get("runAsGroup"), f"{path}.runAsGroup", errors)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        check_user_id(group, f"{path}.supplementalGroups[{i}]", errors)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        reason = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(field.invalid(f"{path}.shareProcessNamespace", True, reason))
    _check_sysctls(context.get("sysctls") or (), spec, f"{path}.sysctls", errors)
    _check_policy(context, "fsGroupChangePolicy", FS_GROUP_POLICIES, path, errors)
    check_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    check_apparmor_profile(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)
    _check_policy(context, "supplementalGroupsPolicy", GROUPS_POLICIES, path, errors)
    _check_policy(context, "seLinuxChangePolicy", SELINUX_POLICIES, path, errors)


def check_security_context(context: Json, host_users: bool, path: str, errors: Errors) -> None:
    """A container's own context."""
    check_user_id(context.get("runAsUser"), f"{path}.runAsUser", errors)
    check_user_id(context.get("runAsGroup"), f"{path}.runAsGroup", errors)
    if (proc_mount := context.get("procMount")) is not None:
        check_one_of(proc_mount, PROC_MOUNTS, f"{path}.procMount", errors)
        if host_users and proc_mount == "Unmasked":
            reason = "`hostUsers` must be false to use `Unmasked`"
            errors.append(field.invalid(f"{path}.procMount", proc_mount, reason))
    check_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        _check_no_escalation(context, path, errors)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    check_apparmor_profile(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def check_seccomp_profile(profile: Json | None, path: str, errors: Errors) -> None:
    if profile is None:
        return
    kind, file = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(field.required(f"{path}.type", "type is required when seccompProfile is set"))
    else:
        check_one_of(kind, PROFILE_TYPES, f"{path}.type", errors)
    if kind == "Localhost":
        if file is None:
            reason = "must be set when seccomp type is Localhost"
            errors.append(field.required(f"{path}.localhostProfile", reason))
        else:
            check_descending_path(file, f"{path}.localhostProfile", errors)
    elif file is not None:
        reason = "can only be set when seccomp type is Localhost"
        errors.append(field.invalid(f"{path}.localhostProfile", as_internal("SeccompProfile", profile), reason))


def check_apparmor_profile(profile: Json | None, path: str, errors: Errors) -> None:
    if profile is None:
        return
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        _check_apparmor_name(name, at, errors)
    elif kind in PROFILE_TYPES:
        if name is not None:
            errors.append(field.invalid(at, name, "can only be set when AppArmor type is Localhost"))
    elif not kind:
        errors.append(field.required(f"{path}.type", "type is required when appArmorProfile is set"))
    else:
        errors.append(field.not_supported(f"{path}.type", kind, PROFILE_TYPES))


def _check_apparmor_name(name: str | None, path: str, errors: Errors) -> None:
    missing = field.required(path, "must be set when AppArmor type is Localhost")
    if name is None:
        errors.append(missing)
        return
    if name != name.strip():
        errors.append(field.invalid(path, name, "must not be padded with whitespace"))
    elif not name:
        errors.append(missing)
    if len(name) > MAX_PROFILE_LENGTH:
        errors.append(field.too_long(path, MAX_PROFILE_LENGTH))


def _check_policy(context: Json, name: str, allowed: tuple[str, ...], path: str, errors: Errors) -> None:
    if (value := context.get(name)) is not None:
        check_one_of(value, allowed, f"{path}.{name}", errors)


def _check_sysctls(sysctls: Any, spec: Json, path: str, errors: Errors) -> None:
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        at, name = f"{path}[{i}].name", sysctl.get("name", "")
        if not name:
            errors.append(field.required(at))
        elif len(name) > MAX_SYSCTL_LENGTH or not _matches_sysctl(name):
            reason = f"must have at most {MAX_SYSCTL_LENGTH} characters and match regex {SYSCTL}"
            errors.append(field.invalid(at, name, reason))
        elif name in seen:
            errors.append(field.duplicate(at, name))
        dotted = _with_dots(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            errors.append(field.invalid(at, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and dotted.startswith(IPC_SYSCTLS):
            errors.append(field.invalid(at, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)


def _with_dots(name: str) -> str:
    """Sysctls may be written with slashes; then dots and slashes have changed places."""
    first = next((character for character in name if character in "./"), ".")
    return name if first == "." else name.translate(str.maketrans("./", "/."))


def _check_no_escalation(context: Json, path: str, errors: Errors) -> None:
    def refuse(what: str) -> None:
        reason = f"cannot set `allowPrivilegeEscalation` to false and {what}"
        errors.append(field.invalid(path, as_internal("SecurityContext", context), reason))

    if context.get("privileged"):
        refuse("`privileged` to true")
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            refuse("`capabilities.Add` CAP_SYS_ADMIN")
