"""Endpoints: the old, flat list of where a Service's pods are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_ITEMS,
    Errors,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_ip,
    check_port_number,
    check_qualified_name,
)
from apiserver.resources.filling import fill_empty
from apiserver.resources.kinds import PlainKind
from apiserver.resources.services.service_checks import PROTOCOLS, check_reachable_ip
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


class EndpointsStrategy(PlainKind):
    rechecks_object = True
    allow_create_on_update = True

    def default(self, obj: Object) -> None:
        for subset in obj.get("subsets") or NO_ITEMS:
            for port in subset.get("ports") or NO_ITEMS:
                fill_empty(port, {"protocol": "TCP"})

    def check(self, obj: Object, errors: Errors) -> None:
        for i, subset in enumerate(obj.get("subsets") or NO_ITEMS):
            _check_subset(subset, f"subsets[{i}]", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        if new.get("subsets") != old.get("subsets"):
            self.check(new, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_warnings(obj))


def _check_subset(subset: Json, path: str, errors: Errors) -> None:
    lists = ("addresses", "notReadyAddresses")
    if not any(subset.get(name) for name in lists):
        errors.append(field.required(path, "must specify `addresses` or `notReadyAddresses`"))
    for name in lists:
        for i, address in enumerate(subset.get(name) or NO_ITEMS):
            _check_address(address, f"{path}.{name}[{i}]", errors)
    ports = subset.get("ports") or NO_ITEMS
    for i, port in enumerate(ports):
        _check_port(port, len(ports) > 1, f"{path}.ports[{i}]", errors)


def _check_address(address: Json, path: str, errors: Errors) -> None:
    ip = address.get("ip", "")
    check_ip(ip, f"{path}.ip", errors)
    if address.get("hostname"):
        check_dns_label(address["hostname"], f"{path}.hostname", errors)
    if "nodeName" in address:
        check_dns_subdomain(address["nodeName"], f"{path}.nodeName", errors)
    check_reachable_ip(ip, f"{path}.ip", errors)


def _check_port(port: Json, needs_name: bool, path: str, errors: Errors) -> None:
    if port.get("name"):
        check_dns_label(port["name"], f"{path}.name", errors)
    elif needs_name:
        errors.append(field.required(f"{path}.name"))
    check_port_number(port.get("port", 0), f"{path}.port", errors)
    check_choice(port.get("protocol"), PROTOCOLS, f"{path}.protocol", errors)
    if "appProtocol" in port:
        check_qualified_name(port["appProtocol"], f"{path}.appProtocol", errors)


def _warnings(endpoints: Json) -> Iterator[str]:
    for i, subset in enumerate(endpoints.get("subsets") or NO_ITEMS):
        for name in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(name) or NO_ITEMS):
                yield from addresses.ip_warnings(address.get("ip", ""), f"subsets[{i}].{name}[{j}].ip")


ENDPOINTS = EndpointsStrategy()
