"""ServiceCIDRs and IPAddresses: the ranges cluster IPs come from, and who holds which address.

This server gives out cluster IPs from what Services hold (`allocation`); these two kinds are only kept and checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_subdomain,
    check_immutable,
    check_path_segment,
    check_with,
)
from apiserver.resources.kinds import PlainKind, carry_over, keep_metadata
from kubeloop.apimachinery import addresses, field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_RANGES = 2


class ServiceCIDRStrategy(PlainKind):
    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "spec")
        keep_metadata(new, old)

    def check(self, obj: Object, errors: Errors) -> None:
        _check_ranges(_ranges(obj), "spec.cidrs", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        """A second range may be added; apart from that none may change."""
        after, before = _ranges(new), _ranges(old)
        is_extended = len(before) == 1 and len(after) == MAX_RANGES
        if len(after) != len(before) and not is_extended:
            errors.append(field.invalid("spec.cidrs", list(after) or None, validation.IMMUTABLE))
            return
        for i, (now, former) in enumerate(zip(after, before, strict=False)):
            check_immutable(now, former, f"spec.cidrs[{i}]", errors)
        if is_extended:
            self.check(new, errors)


class IPAddressStrategy(PlainKind):
    rechecks_object = True

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return addresses.canonical_ip_errors(name)

    def check(self, obj: Object, errors: Errors) -> None:
        parent, path = (obj.get("spec") or NO_FIELDS).get("parentRef"), "spec.parentRef"
        if parent is None:
            errors.append(field.required(path))
            return
        if group := parent.get("group"):
            check_dns_subdomain(group, f"{path}.group", errors)
        for name in ("resource", "name"):
            check_path_segment(parent.get(name, ""), f"{path}.{name}", errors)
        if namespace := parent.get("namespace"):
            check_path_segment(namespace, f"{path}.namespace", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        after, before = ((obj.get("spec") or NO_FIELDS).get("parentRef") for obj in (new, old))
        if after != before:
            errors.append(field.invalid("spec.parentRef", _go_parent(after), validation.IMMUTABLE))


def _ranges(obj: Json) -> Sequence[str]:
    ranges: Sequence[str] = (obj.get("spec") or NO_FIELDS).get("cidrs") or NO_ITEMS
    return ranges


def _check_ranges(ranges: Sequence[str], path: str, errors: Errors) -> None:
    if not ranges:
        errors.append(field.required(path, "at least one CIDR required"))
        return
    if len(ranges) > MAX_RANGES:
        errors.append(field.invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values"))
        return
    for i, text in enumerate(ranges):
        check_with(addresses.canonical_cidr_errors(text), text, f"{path}[{i}]", errors)
    families = [network.version for network in map(addresses.parse_cidr, ranges) if network is not None]
    if len(families) == MAX_RANGES and len(set(families)) == 1:
        reason = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(field.invalid(path, ranges, reason))


def _go_parent(parent: Json | None) -> Json | None:
    if parent is None:
        return None
    return {name.capitalize(): parent.get(name, "") for name in ("group", "resource", "namespace", "name")}


SERVICE_CIDR, IP_ADDRESS = ServiceCIDRStrategy(), IPAddressStrategy()
