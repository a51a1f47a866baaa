"""IP families of a Service: those it asks for, and those it gets where it leaves the choice to the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_ip, check_one_of
from apiserver.resources.services import facts
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.service_addresses import family_of

Json = Mapping[str, Any]

IPV4, IPV6 = "IPv4", "IPv6"
FAMILIES = (IPV4, IPV6)
SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
POLICIES = (PREFER, REQUIRE, SINGLE)


def settle_ip_families(new: Object, old: Json | None, configured: Sequence[str]) -> None:
    """Fill in `ipFamilies` and `ipFamilyPolicy`; raises Invalid where they ask for what this cluster has not.

    `configured` are the families of the cluster, its default one first.
    """
    spec = new["spec"]
    if not facts.needs_cluster_ip(spec) or _is_settled(spec, old):
        return
    before = facts.spec_of(old or {})
    if "ipFamilyPolicy" not in spec:
        headless = facts.is_headless_without_selector(spec)
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or (REQUIRE if headless else SINGLE)
    errors: Errors = []
    check_cluster_ip_fields(spec, errors)
    _refuse(new, errors)
    _settle_number(spec, before if old is not None else None, errors)
    _take_families_of_addresses(spec, configured, errors)
    _refuse(new, errors)
    if facts.is_headless_without_selector(spec):
        _settle_headless(spec, configured[0])
        return
    if spec["ipFamilyPolicy"] == REQUIRE and len(configured) < 2:
        reason = "this cluster is not configured for dual-stack services"
        errors.append(field.invalid("spec.ipFamilyPolicy", REQUIRE, reason))
    for i, family in enumerate(spec.get("ipFamilies") or NO_ITEMS):
        if family not in configured:
            errors.append(field.invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster"))
    _refuse(new, errors)
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = [configured[0]]
    if spec["ipFamilyPolicy"] != SINGLE and len(configured) == 2:
        _add_other_family(spec)


def check_cluster_ip_fields(spec: Json, errors: Errors) -> None:
    """`clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` fit together."""
    if not facts.needs_cluster_ip(spec):
        return
    single, many = spec.get("clusterIP", ""), list(spec.get("clusterIPs") or NO_ITEMS)
    path = "spec.clusterIPs"
    if single and not many:
        errors.append(field.required(path))
    elif single and many[0] != single:
        errors.append(field.invalid(path, many, "first value must match `clusterIP`"))
    elif many and not single:
        errors.append(field.invalid(path, many, "must be empty when `clusterIP` is not specified"))
    _check_families(spec, errors)
    if not _check_addresses(many, path, errors):
        return
    if len(many) > 1 and len({family_of(ip) for ip in many}) < 2:
        errors.append(field.invalid(path, many, "may specify no more than one IP for each IP family"))
    if not facts.is_headless(spec):
        for i, (ip, family) in enumerate(zip(many, spec.get("ipFamilies") or NO_ITEMS, strict=False)):
            if family in FAMILIES and family != family_of(ip):
                reason = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
                errors.append(field.invalid(f"{path}[{i}]", ip, reason))


def _check_families(spec: Json, errors: Errors) -> None:
    seen: set[str] = set()
    for i, family in enumerate(spec.get("ipFamilies") or NO_ITEMS):
        check_one_of(family, FAMILIES, f"spec.ipFamilies[{i}]", errors)
        if family in seen:
            errors.append(field.duplicate(f"spec.ipFamilies[{i}]", family))
        seen.add(family)
    if "ipFamilyPolicy" in spec:
        check_one_of(spec["ipFamilyPolicy"], POLICIES, "spec.ipFamilyPolicy", errors)


def _check_addresses(many: list[str], path: str, errors: Errors) -> bool:
    before = len(errors)
    for i, ip in enumerate(many):
        if i == 0 and ip == facts.NONE:
            if len(many) > 1:
                errors.append(field.invalid(path, many, "'None' must be the first and only value"))
            continue
        check_ip(ip, f"{path}[{i}]", errors)
    are_good = len(errors) == before
    if len(many) > 2:
        errors.append(field.invalid(path, many, "may only hold up to 2 values"))
    return are_good


def _is_settled(spec: Json, old: Json | None) -> bool:
    """An update of a PreferDualStack service that leaves addresses and families alone."""
    if old is None:
        return False
    before = facts.spec_of(old)
    return (
        spec.get("ipFamilyPolicy") == PREFER
        and before.get("ipFamilyPolicy", PREFER) == PREFER
        and before.get("type") == spec.get("type")
        and (before.get("clusterIPs") or []) == (spec.get("clusterIPs") or [])
        and (before.get("ipFamilies") or []) == (spec.get("ipFamilies") or [])
    )


def _settle_number(spec: Object, before: Json | None, errors: Errors) -> None:
    policy, path = spec["ipFamilyPolicy"], "spec.ipFamilyPolicy"
    names = (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family"))
    if before is not None:
        for name, noun in names:
            now, former = list(spec.get(name) or NO_ITEMS), list(before.get(name) or NO_ITEMS)
            if policy == SINGLE and now == former and len(now) > 1:
                spec[name] = now[:1]
            elif policy != SINGLE and now and len(now) < len(former):
                reason = f"must be 'SingleStack' to release the secondary {noun}"
                errors.append(field.invalid(path, policy, reason))
    if policy == SINGLE:
        for name, noun in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(name) or NO_ITEMS) == 2:
                reason = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {noun} are specified"
                errors.append(field.invalid(path, policy, reason))


def _take_families_of_addresses(spec: Object, configured: Sequence[str], errors: Errors) -> None:
    many = list(spec.get("clusterIPs") or NO_ITEMS)
    for i, ip in enumerate(many):
        if ip == facts.NONE:
            break
        if i < len(spec.get("ipFamilies") or NO_ITEMS):
            continue
        family = family_of(ip)
        if family in configured:
            spec["ipFamilies"] = [*(spec.get("ipFamilies") or NO_ITEMS), family]
        else:
            reason = f"{family} is not configured on this cluster"
            errors.append(field.invalid(f"spec.clusterIPs[{i}]", many, reason))


def _settle_headless(spec: Object, default: str) -> None:
    """Without selector nobody knows which families its endpoints will have: both, unless it says otherwise."""
    spec["ipFamilies"] = list(spec.get("ipFamilies") or [default])
    if spec["ipFamilyPolicy"] != SINGLE:
        _add_other_family(spec)


def _add_other_family(spec: Object) -> None:
    families = spec["ipFamilies"]
    if len(families) == 1:
        spec["ipFamilies"] = [families[0], IPV6 if families[0] == IPV4 else IPV4]


def _refuse(service: Json, errors: Errors) -> None:
    if errors:
        raise Invalid.of("Service", "", service["metadata"].get("name", ""), errors)
