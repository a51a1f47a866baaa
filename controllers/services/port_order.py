"""The order of ports in EndpointSlices and Endpoints: by a hash of what Go prints of them.

Clients see this order, and a slice's ports are its identity, so it is the real one: FNV-1a (128 bit) over the dump of
the Go struct (k8s.io/utils/dump.ForHash), v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeloop.apimachinery.meta import Object

Port = Mapping[str, Any]

_OFFSET = 0x6C62272E07BB014262B821756295C58D
_PRIME = 0x0000000001000000000000000000013B
_MASK = (1 << 128) - 1


def sorted_slice_ports(ports: Iterable[Port]) -> list[Object]:
    """Ports of an EndpointSlice in order."""
    return [dict(port) for port in sorted(ports, key=lambda port: _fnv128a(_slice_port(port)))]


def sorted_subset_ports(ports: Iterable[Port]) -> list[Object]:
    """Ports of an Endpoints subset in order."""
    return [dict(port) for port in sorted(ports, key=lambda port: _fnv128a(_subset_port(port)))]


def _slice_port(port: Port) -> str:
    return (
        f"(v1.EndpointPort){{Name:{_pointer('string', port.get('name'))}"
        f" Protocol:{_pointer('v1.Protocol', port.get('protocol'))} Port:{_pointer('int32', port.get('port'))}"
        f" AppProtocol:{_pointer('string', port.get('appProtocol'))}}}"
    )


def _subset_port(port: Port) -> str:
    return (
        f"(v1.EndpointPort){{Name:(string){port.get('name') or ''} Port:(int32){port.get('port')}"
        f" Protocol:(v1.Protocol){port.get('protocol') or ''}"
        f" AppProtocol:{_pointer('string', port.get('appProtocol'))}}}"
    )


def _pointer(go_type: str, value: object) -> str:
    return f"(*{go_type}){'<nil>' if value is None else value}"


def _fnv128a(text: str) -> int:
    total = _OFFSET
    for byte in text.encode():
        total = (total ^ byte) * _PRIME & _MASK
    return total
