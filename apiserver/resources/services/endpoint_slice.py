"""EndpointSlices: where a Service's pods are, in portions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
    check_ip,
    check_label_value,
    check_one_of,
    check_qualified_name,
    check_with,
)
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind
from apiserver.resources.services.service_checks import PROTOCOLS, check_reachable_ip
from kubeloop.apimachinery import addresses, field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MAX_ADDRESSES, MAX_PORTS, MAX_ENDPOINTS, MAX_HINTS = 100, 20000, 1000, 8
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
OUR_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")

_has_dot = re.compile(r"\.").search


class EndpointSliceStrategy(PlainKind):
    rechecks_change, rechecks_object = False, True

    def default(self, obj: Object) -> None:
        for port in obj.get("ports") or NO_ITEMS:
            fill(port, {"name": "", "protocol": "TCP"})

    def prepare_for_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        _drop_topology(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Labels count too: they say whose slice this is."""
        changed = (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}) or any(
            not same(new.get(name), old.get(name)) for name in ("addressType", "endpoints", "ports")
        )
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed
        _drop_topology(new)

    def check(self, obj: Object, errors: Errors) -> None:
        self._check_all_but_endpoints(obj, errors)
        _check_endpoints(obj.get("endpoints") or NO_ITEMS, obj.get("addressType", ""), "endpoints", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        if same(new.get("endpoints"), old.get("endpoints")):
            self._check_all_but_endpoints(new, errors)
        else:
            self.check(new, errors)
        check_immutable(new.get("addressType"), old.get("addressType"), "addressType", errors)

    def _check_all_but_endpoints(self, obj: Object, errors: Errors) -> None:
        check_choice(obj.get("addressType", ""), ADDRESS_TYPES, "addressType", errors)
        _check_ports(obj.get("ports") or NO_ITEMS, "ports", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        old_type = ("spec.addressType: FQDN endpoints are deprecated",) if obj.get("addressType") == "FQDN" else ()
        return [*old_type, *_address_warnings(obj)]

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return list(_address_warnings(new))


def _drop_topology(slice_: Object) -> None:
    for endpoint in slice_.get("endpoints") or NO_ITEMS:
        endpoint.pop("deprecatedTopology", None)


def _check_ports(ports: Sequence[Json], path: str, errors: Errors) -> None:
    if len(ports) > MAX_PORTS:
        errors.append(field.too_many(path, len(ports), MAX_PORTS))
        return
    names: set[str] = set()
    for i, port in enumerate(ports):
        at, name = f"{path}[{i}]", port.get("name") or ""
        if name:
            check_dns_label(name, f"{at}.name", errors)
        if name in names:
            errors.append(field.duplicate(f"{at}.name", name))
        names.add(name)
        check_one_of(port.get("protocol", ""), PROTOCOLS, f"{at}.protocol", errors)
        if port.get("appProtocol") is not None:
            check_qualified_name(port["appProtocol"], f"{at}.appProtocol", errors)


def _check_endpoints(endpoints: Sequence[Json], kind: str, path: str, errors: Errors) -> None:
    if len(endpoints) > MAX_ENDPOINTS:
        errors.append(field.too_many(path, len(endpoints), MAX_ENDPOINTS))
        return
    for i, endpoint in enumerate(endpoints):
        at = f"{path}[{i}]"
        _check_addresses(endpoint.get("addresses") or NO_ITEMS, kind, f"{at}.addresses", errors)
        if endpoint.get("nodeName") is not None:
            check_dns_subdomain(endpoint["nodeName"], f"{at}.nodeName", errors)
        if endpoint.get("hostname") is not None:
            check_dns_label(endpoint["hostname"], f"{at}.hostname", errors)
        if endpoint.get("hints"):
            _check_hints(endpoint["hints"], f"{at}.hints", errors)


def _check_addresses(texts: Sequence[str], kind: str, path: str, errors: Errors) -> None:
    if not texts:
        errors.append(field.required(path, "must contain at least 1 address"))
    elif len(texts) > MAX_ADDRESSES:
        errors.append(field.too_many(path, len(texts), MAX_ADDRESSES))
    for i, text in enumerate(texts):
        at = f"{path}[{i}]"
        if kind == "FQDN":
            _check_domain(text, at, errors)
        elif kind in ("IPv4", "IPv6"):
            _check_address(text, kind, at, path, errors)


def _check_address(text: str, kind: str, at: str, path: str, errors: Errors) -> None:
    before = len(errors)
    if kind == "IPv4":
        check_ip(text, at, errors)
    else:
        check_with(addresses.canonical_ip_errors(text), text, at, errors)
    if len(errors) > before:
        return
    address = addresses.parse_ip(text)
    if address is not None and f"IPv{address.version}" != kind:
        errors.append(field.invalid(path, text, f"must be an {kind} address"))
    check_reachable_ip(text, at, errors)


def _check_domain(text: str, path: str, errors: Errors) -> None:
    if not text:
        errors.append(field.required(path))
        return
    name = text.removesuffix(".")
    if reasons := validation.dns_subdomain_errors(name):
        check_with(reasons, name, path, errors)
        return
    if not _has_dot(name):
        reason = "should be a domain with at least two segments separated by dots"
        errors.append(field.invalid(path, name, reason))
        return
    for label in name.split("."):
        check_with(validation.dns_label_errors(label), label, path, errors)


def _check_hints(hints: Json, path: str, errors: Errors) -> None:
    for name, check in (("forZones", check_label_value), ("forNodes", check_dns_subdomain)):
        listed = hints.get(name) or NO_ITEMS
        if len(listed) > MAX_HINTS:
            errors.append(field.too_many(f"{path}.{name}", len(listed), MAX_HINTS))
            return
        seen: set[str] = set()
        for i, hint in enumerate(listed):
            at, value = f"{path}.{name}[{i}].name", hint.get("name", "")
            if value in seen:
                errors.append(field.duplicate(at, value))
            seen.add(value)
            check(value, at, errors)


def _address_warnings(slice_: Json) -> Iterator[str]:
    if (slice_["metadata"].get("labels") or NO_FIELDS).get(MANAGED_BY) in OUR_CONTROLLERS:
        return
    for i, endpoint in enumerate(slice_.get("endpoints") or NO_ITEMS):
        for j, text in enumerate(endpoint.get("addresses") or NO_ITEMS):
            yield from addresses.ip_warnings(text, f"endpoints[{i}].addresses[{j}]")


ENDPOINT_SLICE = EndpointSliceStrategy()
