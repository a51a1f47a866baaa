"""The ports of its node that a pod wants for itself (nodeports of the scheduler, v1.36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HostPort = tuple[str, str, int]  # address, protocol, port

ANY_ADDRESS = "0.0.0.0"


def host_ports_of(spec: Mapping[str, Any]) -> Sequence[HostPort]:
    """Of containers and sidecars; other init containers are gone when the ports would be used."""
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return tuple(
        (port.get("hostIP") or ANY_ADDRESS, port.get("protocol") or "TCP", port["hostPort"])
        for container in (*sidecars, *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if (port.get("hostPort") or 0) > 0
    )


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two pods of a node cannot have both; 0.0.0.0 stands for every address."""
    return one[1:] == other[1:] and (one[0] == other[0] or ANY_ADDRESS in (one[0], other[0]))
