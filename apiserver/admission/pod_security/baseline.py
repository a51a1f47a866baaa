"""The checks of level baseline: known ways to gain the node's privileges. Each tells of one kind of violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.admission.pod_security.pod import (
    Check,
    Container,
    Pod,
    Violation,
    containers_text,
    is_relaxed,
    plural,
    quoted,
    security_of,
    setters_text,
)
from apiserver.admission.pod_security.policy import Policy
from kubeloop.apimachinery.field import go_quote

_APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER_ANNOTATION = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SELINUX_ENGINE_TYPE = "container_engine_t"
# Safe sysctls by the minor version that let them in.
_SYSCTLS = {
    0: [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ],
    27: ["net.ipv4.ip_local_reserved_ports"],
    29: [
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    ],
    32: ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"],
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")


def app_armor(pod: Pod, policy: Policy) -> Violation | None:
    """The field of pod and containers, and the annotations that were there before the field."""
    bad_pod = _is_bad_app_armor(pod.security)
    bad = pod.containers_where(lambda container: _is_bad_app_armor(security_of(container)))
    values = sorted({_app_armor_type(one) for one in pod.contexts() if _is_bad_app_armor(one)})
    annotated = sorted(
        f"{key}={go_quote(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APP_ARMOR_ANNOTATION)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    who = [setters_text(bad_pod, bad)] if bad_pod or bad else []
    who += [plural(len(annotated), "annotation", "annotations")] if annotated else []
    if not who:
        return None
    values += annotated
    reason = plural(len(values), "forbidden AppArmor profile", "forbidden AppArmor profiles")
    return Violation(reason, f"{' and '.join(who)} must not set AppArmor profile type to {quoted(values)}")


def _app_armor_type(security: Mapping[str, Any]) -> str:
    return (security.get("appArmorProfile") or {}).get("type", "")


def _is_bad_app_armor(security: Mapping[str, Any]) -> bool:
    is_set = security.get("appArmorProfile") is not None
    return is_set and _app_armor_type(security) not in ("RuntimeDefault", "Localhost")


def capabilities(pod: Pod, policy: Policy) -> Violation | None:
    added: set[str] = set()

    def adds_more(container: Container) -> bool:
        more = [one for one in _capabilities(container, "add") if one not in _CAPABILITIES]
        added.update(more)
        return bool(more)

    bad = pod.containers_where(adds_more)
    if not bad:
        return None
    where = "securityContext.capabilities.add"
    return Violation(
        "non-default capabilities", f"{containers_text(bad)} must not include {quoted(sorted(added))} in {where}"
    )


def _capabilities(container: Container, field: str) -> list[str]:
    return (security_of(container).get("capabilities") or {}).get(field) or []


def host_namespaces(pod: Pod, policy: Policy) -> Violation | None:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(pod: Pod, policy: Policy) -> Violation | None:
    names = [volume.get("name", "") for volume in pod.spec.get("volumes") or () if "hostPath" in volume]
    if not names:
        return None
    return Violation("hostPath volumes", f"{plural(len(names), 'volume', 'volumes')} {quoted(names)}")


def host_ports(pod: Pod, policy: Policy) -> Violation | None:
    taken: set[int] = set()

    def takes_ports(container: Container) -> bool:
        ports = [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]
        taken.update(ports)
        return bool(ports)

    bad = pod.containers_where(takes_ports)
    if not bad:
        return None
    word = plural(len(taken), "hostPort", "hostPorts")
    ports = ", ".join(sorted(map(str, taken)))
    return Violation("hostPort", f"{containers_text(bad)} {plural(len(bad), 'uses', 'use')} {word} {ports}")


def probe_hosts(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(34):
        return None
    hosts: set[str] = set()

    def names_hosts(container: Container) -> bool:
        named = list(_hosts(container))
        hosts.update(named)
        return bool(named)

    bad = sorted(set(pod.containers_where(names_hosts)))
    if not bad:
        return None
    word = plural(len(hosts), "host", "hosts")
    detail = (
        f"{containers_text(bad)} {plural(len(bad), 'uses', 'use')} probe or lifecycle {word} {quoted(sorted(hosts))}"
    )
    return Violation("probe or lifecycle host", detail)


def _hosts(container: Container) -> Iterator[str]:
    """The hosts that probes and hooks connect to instead of the pod."""
    handlers: list[Mapping[str, Any]] = [container[field] for field in _PROBES if container.get(field)]
    lifecycle = container.get("lifecycle") or {}
    handlers += [lifecycle[field] for field in _HOOKS if lifecycle.get(field)]
    for handler in handlers:
        for kind in ("httpGet", "tcpSocket"):
            host = (handler.get(kind) or {}).get("host")
            if host:
                yield host


def privileged(pod: Pod, policy: Policy) -> Violation | None:
    bad = pod.containers_where(lambda container: bool(security_of(container).get("privileged")))
    if not bad:
        return None
    return Violation("privileged", f"{containers_text(bad)} must not set securityContext.privileged=true")


def proc_mount(pod: Pod, policy: Policy) -> Violation | None:
    """Not asked of pods in a user namespace of their own."""
    return None if is_relaxed(pod, policy) else masked_proc(pod, policy)


def masked_proc(pod: Pod, policy: Policy) -> Violation | None:
    bad = pod.containers_where(lambda container: security_of(container).get("procMount", "Default") != "Default")
    if not bad:
        return None
    mounts = (security_of(one).get("procMount", "Default") for one in pod.containers)
    values = sorted({mount for mount in mounts if mount != "Default"})
    return Violation("procMount", f"{containers_text(bad)} must not set securityContext.procMount to {quoted(values)}")


def seccomp_profile(pod: Pod, policy: Policy) -> Violation | None:
    return _seccomp_fields(pod) if policy.is_from(19) else _seccomp_annotations(pod)


def _seccomp_annotations(pod: Pod) -> Violation | None:
    """How profiles were named before there was a field."""
    keys = {_SECCOMP_ANNOTATION} | {_SECCOMP_CONTAINER_ANNOTATION + one.get("name", "") for one in pod.containers}
    bad = sorted(
        f"{key}={go_quote(pod.annotations[key])}"
        for key in keys.intersection(pod.annotations)
        if pod.annotations[key] not in ("runtime/default", "docker/default")
        and not pod.annotations[key].startswith("localhost/")
    )
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {plural(len(bad), 'annotation', 'annotations')} {', '.join(bad)}")


def _seccomp_fields(pod: Pod) -> Violation | None:
    bad_pod = is_bad_seccomp(pod.security)
    bad = pod.containers_where(lambda container: is_bad_seccomp(security_of(container)))
    if not bad_pod and not bad:
        return None
    values = quoted(sorted({seccomp_type(one) for one in pod.contexts() if is_bad_seccomp(one)}))
    who = setters_text(bad_pod, bad)
    return Violation("seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {values}")


def is_bad_seccomp(security: Mapping[str, Any]) -> bool:
    """Whether a profile is named that is neither the runtime's nor the node's."""
    is_set = security.get("seccompProfile") is not None
    return is_set and seccomp_type(security) not in ("RuntimeDefault", "Localhost")


def seccomp_type(security: Mapping[str, Any]) -> str:
    return (security.get("seccompProfile") or {}).get("type", "")


def selinux_options(pod: Pod, policy: Policy) -> Violation | None:
    types: set[str] = set()
    fields: set[str] = set()
    allowed = _SELINUX_TYPES | ({_SELINUX_ENGINE_TYPE} if policy.is_from(31) else set())

    def sets_forbidden(security: Mapping[str, Any]) -> bool:
        options = security.get("seLinuxOptions") or {}
        kind = options.get("type", "")
        if kind not in allowed:
            types.add(kind)
        own = {name for name in ("user", "role") if options.get(name)}
        fields.update(own)
        return kind not in allowed or bool(own)

    bad_pod = sets_forbidden(pod.security)
    bad = pod.containers_where(lambda container: sets_forbidden(security_of(container)))
    if not bad_pod and not bad:
        return None
    details = [f"{plural(len(types), 'type', 'types')} {quoted(sorted(types))}"] if types else []
    details += [f"{name} may not be set" for name in ("user", "role") if name in fields]
    who = setters_text(bad_pod, bad)
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(details)}")


def sysctls(pod: Pod, policy: Policy) -> Violation | None:
    allowed = {name for minor, names in _SYSCTLS.items() if policy.is_from(minor) for name in names}
    names = [one.get("name", "") for one in pod.security.get("sysctls") or () if one.get("name") not in allowed]
    return Violation("forbidden sysctls", ", ".join(names)) if names else None


def windows_host_process(pod: Pod, policy: Policy) -> Violation | None:
    bad_pod = _is_host_process(pod.security)
    bad = pod.containers_where(lambda container: _is_host_process(security_of(container)))
    if not bad_pod and not bad:
        return None
    who = setters_text(bad_pod, bad)
    return Violation("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true")


def _is_host_process(security: Mapping[str, Any]) -> bool:
    return bool((security.get("windowsOptions") or {}).get("hostProcess"))


CHECKS: tuple[Check, ...] = (
    app_armor,
    capabilities,
    host_namespaces,
    host_path_volumes,
    host_ports,
    probe_hosts,
    privileged,
    proc_mount,
    selinux_options,
    seccomp_profile,
    sysctls,
    windows_host_process,
)
