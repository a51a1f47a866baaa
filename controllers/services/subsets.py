"""Endpoints subsets: addresses grouped by the ports they offer, in canonical form. Pure.

RepackSubsets of pkg/api/v1/endpoints, v1.36. Subsets are ordered by their first address, where the real server orders
them by a hash over uids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controllers.services.port_order import sorted_subset_ports
from kubeloop.apimachinery.meta import Object

Address = Mapping[str, Any]
AddressKey = tuple[str, str]
PortKey = tuple[Any, ...]

_PORT_FIELDS = ("name", "port", "protocol", "appProtocol")
_NO_PORT: PortKey = ()


def subset(address: Address, port: Mapping[str, Any] | None, is_ready: bool) -> Object:
    """The smallest subset: one address with one port (or none)."""
    return {"addresses" if is_ready else "notReadyAddresses": [address], "ports": [port] if port else []}


def repack(subsets: Iterable[Mapping[str, Any]]) -> list[Object]:
    """The same endpoints with every address once for each set of ports; not ready wins over ready."""
    addresses: dict[AddressKey, Address] = {}
    readiness: dict[PortKey, dict[AddressKey, bool]] = {}
    for one in subsets:
        for port in [_port_key(port) for port in one.get("ports") or ()] or [_NO_PORT]:
            states = readiness.setdefault(port, {})
            for field, is_ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in one.get(field) or ():
                    key = _address_key(address)
                    addresses.setdefault(key, address)
                    states[key] = states.get(key, True) and is_ready
    ports_by_states: dict[tuple[tuple[AddressKey, bool], ...], list[PortKey]] = {}
    for port, states in readiness.items():
        ports_by_states.setdefault(tuple(sorted(states.items())), []).append(port)
    packed = [_packed(states, ports, addresses) for states, ports in ports_by_states.items()]
    return sorted(packed, key=_order)


def _packed(
    states: Sequence[tuple[AddressKey, bool]], ports: Sequence[PortKey], addresses: Mapping[AddressKey, Address]
) -> Object:
    """Empty lists are left out, as they are when stored."""
    ready = [dict(addresses[key]) for key, is_ready in states if is_ready]
    not_ready = [dict(addresses[key]) for key, is_ready in states if not is_ready]
    offered = sorted_subset_ports(
        {field: value for field, value in zip(_PORT_FIELDS, port, strict=True) if value not in (None, "")}
        for port in ports
        if port != _NO_PORT
    )
    fields = (("addresses", ready), ("notReadyAddresses", not_ready), ("ports", offered))
    return {field: value for field, value in fields if value}


def _order(one: Object) -> tuple[Any, ...]:
    first = (one.get("addresses") or one.get("notReadyAddresses") or [{}])[0]
    return (_address_key(first), [str(port) for port in one.get("ports", [])])


def _address_key(address: Address) -> AddressKey:
    return address.get("ip") or "", (address.get("targetRef") or {}).get("uid") or ""


def _port_key(port: Mapping[str, Any]) -> PortKey:
    return tuple(port.get(field) for field in _PORT_FIELDS)
