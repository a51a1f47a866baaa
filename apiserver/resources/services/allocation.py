"""Cluster IPs and node ports: values that are given out once in the whole cluster.

What is taken follows from the Services themselves, plus what writes under way have reserved; so nothing has to be
released when a Service goes, and nothing is lost when the server dies. `ServiceAllocator.allocate` runs before the
Service is validated, as upstream does, and must therefore expect any values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from apiserver.resources.checks import NO_ITEMS
from apiserver.resources.services import facts
from apiserver.resources.services.ip_families import settle_ip_families
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.errors import ApiError, InternalError, Invalid
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

SERVICE_RANGE = "10.96.0.0/16"
NODE_PORTS = range(30000, 32768)
# The lower part of each range is left to those who ask for a certain value.
STATIC_ADDRESSES = 256
STATIC_NODE_PORTS = 86

ALREADY_ALLOCATED = "provided IP is already allocated"
PORT_ALREADY_ALLOCATED = "provided port is already allocated"
WRONG_NETWORK = "the provided network does not match the current range"


class RangeFull(Exception):
    """No value of the range is left."""


@dataclass(slots=True)
class Taken:
    """What the Services of the cluster hold, and one write's additions to it."""

    addresses: set[str] = dataclass_field(default_factory=set)
    ports: set[int] = dataclass_field(default_factory=set)
    new_addresses: list[str] = dataclass_field(default_factory=list)
    new_ports: list[int] = dataclass_field(default_factory=list)

    @classmethod
    def by(cls, services: Iterable[Json]) -> Taken:
        taken = cls()
        for service in services:
            spec = facts.spec_of(service)
            taken.addresses.update(ip for ip in spec.get("clusterIPs") or NO_ITEMS if ip and ip != facts.NONE)
            taken.ports.update(facts.node_ports(spec))
            if spec.get("healthCheckNodePort"):
                taken.ports.add(spec["healthCheckNodePort"])
        return taken


class ServiceAllocator:
    """Gives out addresses of one IPv4 range and node ports. Reservations last from `allocate` until their release."""

    def __init__(self, address_range: str = SERVICE_RANGE, ports: range = NODE_PORTS) -> None:
        network = ip_network(address_range)
        assert isinstance(network, IPv4Network)
        self._network = network
        self._ports = ports
        self._reserved_addresses: set[str] = set()
        self._reserved_ports: set[int] = set()

    def allocate(self, new: Object, old: Json | None, services: Iterable[Json], dry_run: bool) -> Callable[[], None]:
        """Fill in what `new` needs and reserve it; raises Invalid where a wish cannot be met. Returns the release.

        A dry run reserves nothing and does not look whether node ports are free.
        """
        taken = Taken.by(services)
        taken.addresses |= self._reserved_addresses
        taken.ports |= self._reserved_ports
        _bring_into_line(new, old)
        settle_ip_families(new, old)
        self._allocate_address(new, old, taken, dry_run)
        self._allocate_ports(new, old, taken, dry_run)
        if dry_run:
            return lambda: None
        return self._reserve(taken)

    def _reserve(self, taken: Taken) -> Callable[[], None]:
        self._reserved_addresses.update(taken.new_addresses)
        self._reserved_ports.update(taken.new_ports)

        def release() -> None:
            self._reserved_addresses.difference_update(taken.new_addresses)
            self._reserved_ports.difference_update(taken.new_ports)

        return release

    def _allocate_address(self, new: Object, old: Json | None, taken: Taken, dry_run: bool) -> None:
        spec = new["spec"]
        if not facts.needs_cluster_ip(spec) or facts.is_headless(spec):
            return
        if old is not None and facts.needs_cluster_ip(facts.spec_of(old)):
            return  # it keeps the one it has
        wanted = next(iter(spec.get("clusterIPs") or NO_ITEMS), "")
        address = self._take_address(new, wanted, taken, dry_run) if wanted else self._next_address(taken)
        spec["clusterIP"] = address
        spec["clusterIPs"] = [address, *(spec.get("clusterIPs") or NO_ITEMS)[1:]]

    def _take_address(self, service: Object, wanted: str, taken: Taken, dry_run: bool) -> str:
        address = addresses.parse_ip(wanted)
        edges = (self._network.network_address, self._network.broadcast_address)
        reason = ""
        if isinstance(address, IPv4Address) and address not in self._network and not dry_run:
            reason = WRONG_NETWORK
        elif address not in self._network or address in edges:
            valid = f"The range of valid IPs is {self._network}"
            reason = f"the provided IP ({wanted}) is not in the valid range. {valid}"
        elif wanted in taken.addresses and not dry_run:
            reason = ALREADY_ALLOCATED
        if reason:
            value = list(service["spec"]["clusterIPs"])
            raise _invalid(
                service, field.invalid("spec.clusterIPs", value, f"failed to allocate IP {wanted}: {reason}")
            )
        taken.addresses.add(wanted)
        taken.new_addresses.append(wanted)
        return wanted

    def _next_address(self, taken: Taken) -> str:
        first = int(self._network.network_address) + 1
        last = int(self._network.broadcast_address) - 1
        held = {int(IPv4Address(text)) for text in taken.addresses if isinstance(addresses.parse_ip(text), IPv4Address)}
        try:
            address = str(IPv4Address(_next_free(first, last, STATIC_ADDRESSES, held)))
        except RangeFull:
            raise InternalError.because("failed to allocate a serviceIP for Service: range is full") from None
        taken.addresses.add(address)
        taken.new_addresses.append(address)
        return address

    def _allocate_ports(self, new: Object, old: Json | None, taken: Taken, dry_run: bool) -> None:
        spec, old_spec = new["spec"], facts.spec_of(old or {})
        if facts.needs_node_ports(spec):
            if old is None:
                self._allocate_first_ports(new, taken, dry_run)
            else:
                self._allocate_changed_ports(new, facts.node_ports(old_spec), taken, dry_run)
        if facts.needs_health_check_port(spec) and not facts.needs_health_check_port(old_spec):
            self._allocate_health_check_port(spec, taken, dry_run)

    def _allocate_first_ports(self, service: Object, taken: Taken, dry_run: bool) -> None:
        """One node port for all protocols of one port."""
        ports = service["spec"].get("ports") or NO_ITEMS
        by_port: dict[int, int] = {}
        for i, port in enumerate(ports):
            if not port.get("nodePort") and not _wants_node_ports(service["spec"]):
                continue
            number = port.get("port", 0)
            if number not in by_port:
                wanted = next((p["nodePort"] for p in ports if p.get("port", 0) == number and p.get("nodePort")), 0)
                if wanted:
                    self._take_port(service, i, wanted, taken, dry_run)
                by_port[number] = wanted or self._next_port(taken)
                port["nodePort"] = by_port[number]
            elif not port.get("nodePort"):
                port["nodePort"] = by_port[number]
            elif port["nodePort"] != by_port[number]:
                self._take_port(service, i, port["nodePort"], taken, dry_run)

    def _allocate_changed_ports(self, service: Object, old_ports: list[int], taken: Taken, dry_run: bool) -> None:
        seen: set[tuple[str, int]] = set()
        mine = set(old_ports)
        for i, port in enumerate(service["spec"].get("ports") or NO_ITEMS):
            if not port.get("nodePort") and not _wants_node_ports(service["spec"]):
                continue
            if not port.get("nodePort"):
                port["nodePort"] = self._next_port(taken)
            elif port["nodePort"] not in mine:
                self._take_port(service, i, port["nodePort"], taken, dry_run)
                mine.add(port["nodePort"])
            place = (port.get("protocol", ""), port["nodePort"])
            if place in seen:
                raise ApiError(f"duplicate nodePort: {{{place[0]} {place[1]}}}", code=500)
            seen.add(place)

    def _take_port(self, service: Object, i: int, wanted: int, taken: Taken, dry_run: bool) -> None:
        if reason := self._port_refusal(wanted, taken, dry_run):
            raise _invalid(service, field.invalid(f"spec.ports[{i}].nodePort", wanted, reason))
        taken.ports.add(wanted)
        taken.new_ports.append(wanted)

    def _port_refusal(self, wanted: int, taken: Taken, dry_run: bool) -> str:
        if dry_run:
            return PORT_ALREADY_ALLOCATED if wanted in taken.new_ports else ""
        if wanted not in self._ports:
            valid = f"The range of valid ports is {self._ports.start}-{self._ports.stop - 1}"
            return f"provided port is not in the valid range. {valid}"
        return PORT_ALREADY_ALLOCATED if wanted in taken.ports else ""

    def _next_port(self, taken: Taken) -> int:
        try:
            port = _next_free(self._ports.start, self._ports.stop - 1, STATIC_NODE_PORTS, taken.ports)
        except RangeFull:
            raise InternalError.because("failed to allocate a nodePort: range is full") from None
        taken.ports.add(port)
        taken.new_ports.append(port)
        return port

    def _allocate_health_check_port(self, spec: Object, taken: Taken, dry_run: bool) -> None:
        wanted = spec.get("healthCheckNodePort", 0)
        if not wanted:
            spec["healthCheckNodePort"] = self._next_port(taken)
        elif reason := self._port_refusal(wanted, taken, dry_run):
            raise InternalError.because(f"failed to allocate requested HealthCheck NodePort {wanted}: {reason}")
        else:
            taken.ports.add(wanted)
            taken.new_ports.append(wanted)


def _next_free(first: int, last: int, static: int, held: set[int]) -> int:
    """The value after the highest one held, so that freed ones rest a while; then the lowest free one."""
    dynamic = min(first + static, last)
    highest = max((value for value in held if dynamic <= value <= last), default=dynamic - 1)
    if highest < last:
        return highest + 1
    for value in (*range(dynamic, last + 1), *range(first, dynamic)):
        if value not in held:
            return value
    raise RangeFull


def _wants_node_ports(spec: Json) -> bool:
    return spec.get("type") == "NodePort" or bool(spec.get("allocateLoadBalancerNodePorts"))


def _invalid(service: Json, error: field.FieldError) -> Invalid:
    return Invalid.of("Service", "", service["metadata"].get("name", ""), [error])


def _bring_into_line(new: Object, old: Json | None) -> None:
    """What a client left out of an update stays as it was; `clusterIP` and `clusterIPs` say the same."""
    spec = new["spec"]
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = facts.spec_of(old)
    if facts.needs_cluster_ip(before) and facts.needs_cluster_ip(spec):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if facts.needs_node_ports(before) and facts.needs_node_ports(spec):
        _keep_node_ports(spec, before)
    if facts.needs_health_check_port(before) and facts.needs_health_check_port(spec):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before.get("healthCheckNodePort", 0)
    _follow_single_address(spec, before)


def _keep_node_ports(spec: Object, before: Json) -> None:
    """A port that keeps its name keeps its node port, unless another port asks for that one now."""
    used = set(facts.node_ports(before)) & set(facts.node_ports(spec))
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or NO_ITEMS}
    for port in spec.get("ports") or NO_ITEMS:
        kept = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and kept and kept not in used:
            port["nodePort"] = kept


def _follow_single_address(spec: Object, before: Json) -> None:
    """Clients that know only `clusterIP` change both by changing it."""
    single, old_single = spec.get("clusterIP", ""), before.get("clusterIP", "")
    if before.get("clusterIPs") and not spec.get("clusterIPs") and single == old_single:
        spec["clusterIPs"] = list(before["clusterIPs"])
    if single == old_single or list(spec.get("clusterIPs") or ()) != list(before.get("clusterIPs") or ()):
        return
    if single:
        spec["clusterIPs"] = [single]
    elif old_single:
        spec.pop("clusterIPs", None)
