"""Kernel parameters that a pod may set: those of its own namespaces that harm nobody (pkg/kubelet/sysctl, v1.36)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.state import Verdict

_SAFE = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)


def objection(spec: Mapping[str, Any]) -> Verdict | None:
    """Why a node does not take a pod with this spec. That the host's namespace is shared, the API server refuses."""
    for one in (spec.get("securityContext") or {}).get("sysctls") or ():
        name = _with_dots(one["name"])
        if name not in _SAFE:
            return Verdict("SysctlForbidden", f'forbidden sysctl: "{name}" not allowlisted')
    return None


def _with_dots(name: str) -> str:
    """Where slashes separate, dots are part of a name."""
    first = next((letter for letter in name if letter in "./"), ".")
    return name if first == "." else name.translate(str.maketrans("./", "/."))
