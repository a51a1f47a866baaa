"""Node ports: what is taken follows from the Services themselves, plus what writes under way have reserved.

So nothing has to be released when a Service goes, and nothing is lost when the server dies. It costs a look at every
Service, and so is asked only for those that need ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from apiserver.resources.checks import NO_ITEMS
from apiserver.resources.services import facts
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import ApiError, InternalError, Invalid
from kubeloop.apimachinery.meta import Object, name_of

Json = Mapping[str, Any]

NODE_PORTS = range(30000, 32768)
# The lower part of the range is left to those who ask for a certain port.
STATIC_NODE_PORTS = 86

PORT_ALREADY_ALLOCATED = "provided port is already allocated"


class RangeFull(Exception):
    """No port of the range is left."""


@dataclass(slots=True)
class Taken:
    """The ports that the Services of the cluster hold, and one write's additions to them."""

    ports: set[int]
    new_ports: list[int] = dataclass_field(default_factory=list)

    @classmethod
    def by(cls, services: Iterable[Json]) -> Taken:
        taken: set[int] = set()
        for service in services:
            spec = facts.spec_of(service)
            taken.update(facts.node_ports(spec))
            if spec.get("healthCheckNodePort"):
                taken.add(spec["healthCheckNodePort"])
        return cls(taken)


class PortAllocator:
    """Gives out node ports. Reservations last from `allocate` until their release."""

    def __init__(self, ports: range = NODE_PORTS) -> None:
        self._ports = ports
        self._reserved: set[int] = set()

    def allocate(self, new: Object, old: Json | None, services: Iterable[Json], dry_run: bool) -> Callable[[], None]:
        """Fill in what `new` needs and reserve it; raises Invalid where a wish cannot be met. Returns the release.

        A dry run reserves nothing and does not look whether ports are free.
        """
        taken = Taken.by(services)
        taken.ports |= self._reserved
        spec, old_spec = new["spec"], facts.spec_of(old or {})
        if facts.needs_node_ports(spec):
            if old is None:
                self._allocate_first_ports(new, taken, dry_run)
            else:
                self._allocate_changed_ports(new, facts.node_ports(old_spec), taken, dry_run)
        if facts.needs_health_check_port(spec) and not facts.needs_health_check_port(old_spec):
            self._allocate_health_check_port(spec, taken, dry_run)
        return _nothing if dry_run else self._reserve(taken.new_ports)

    def _reserve(self, ports: list[int]) -> Callable[[], None]:
        self._reserved.update(ports)
        return lambda: self._reserved.difference_update(ports)

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
            port = _next_free(self._ports, taken.ports)
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


def needs_ports(new: Json, old: Json | None) -> bool:
    """Whether there may be anything to allocate."""
    spec = facts.spec_of(new)
    return facts.needs_node_ports(spec) or (
        facts.needs_health_check_port(spec) and not facts.needs_health_check_port(facts.spec_of(old or {}))
    )


def _nothing() -> None:
    """What a dry run has to release."""


def _next_free(ports: range, held: set[int]) -> int:
    """The port after the highest one held, so that freed ones rest a while; then the lowest free one."""
    dynamic = ports[STATIC_NODE_PORTS:]
    highest = max((port for port in held if port in dynamic), default=dynamic.start - 1)
    if highest + 1 in dynamic:
        return highest + 1
    for port in (*dynamic, *ports[:STATIC_NODE_PORTS]):
        if port not in held:
            return port
    raise RangeFull


def _wants_node_ports(spec: Json) -> bool:
    return spec.get("type") == "NodePort" or bool(spec.get("allocateLoadBalancerNodePorts"))


def _invalid(service: Json, error: field.FieldError) -> Invalid:
    return Invalid.of("Service", "", name_of(service), [error])
