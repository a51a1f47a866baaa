"""Services: defaults, what a change of type ends, and the addresses and ports they are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import structlog

from apiserver.registry.cluster import Allocation, Cluster
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors
from apiserver.resources.filling import fill_empty
from apiserver.resources.kinds import FieldMap, PlainKind, carry_over
from apiserver.resources.services import facts
from apiserver.resources.services.allocation import ServiceAllocator, give_back
from apiserver.resources.services.facts import load_balancer_warnings
from apiserver.resources.services.node_ports import PortAllocator
from apiserver.resources.services.service_checks import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    check_changes,
    check_load_balancer_status,
    check_service,
)
from apiserver.storage.interface import StorageError
from kubeloop.apimachinery import addresses, validation
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, name_of, namespace_of

Json = Mapping[str, Any]

log = structlog.get_logger("apiserver")

AFFINITY_SECONDS = 10800
FIELDS = FieldMap({"spec.clusterIP": ("spec", "clusterIP"), "spec.type": ("spec", "type")})


class ServiceStrategy(PlainKind):
    allow_create_on_update = True
    returns_object_on_delete = True

    def __init__(self, allocator: ServiceAllocator) -> None:
        self._allocator = allocator

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.dns_label_errors(name, is_prefix)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        fill_empty(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
        _default_affinity(spec)
        for port in spec.get("ports") or NO_ITEMS:
            fill_empty(port, {"protocol": "TCP", "targetPort": port.get("port", 0)})
        if facts.is_externally_accessible(spec):
            fill_empty(spec, {"externalTrafficPolicy": "Cluster"})
        if spec["type"] in ("ClusterIP", *facts.NODE_PORT_TYPES):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        balancer = obj.setdefault("status", {}).setdefault("loadBalancer", {})
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for point in balancer.get("ingress") or NO_ITEMS:
                if point.get("ip"):
                    point.setdefault("ipMode", "VIP")

    async def allocate(self, new: Object, old: Object | None, cluster: Cluster, dry_run: bool) -> Allocation:
        return await self._allocator.allocate(new, old, cluster, dry_run)

    async def removed(self, obj: Object, cluster: Cluster) -> None:
        """Its Endpoints go at once, lest the next Service of that name is reached where this one was."""
        try:
            await cluster.delete("", "Endpoints", namespace_of(obj), name_of(obj))
        except (ApiError, StorageError) as error:
            log.warning("the Endpoints of a deleted Service are left behind", error=str(error))
        await give_back(cluster, obj, facts.addresses_of(facts.spec_of(obj)))

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"loadBalancer": {}}

    def check(self, obj: Object, errors: Errors) -> None:
        check_service(obj, errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")
        _drop_what_the_type_ends(new, old)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_changes(new, old, errors)
        check_service(new, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_load_balancer_status(new, errors)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return load_balancer_warnings(new) if subresource == "status" else self.warnings(new)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_warnings(obj["spec"], obj["metadata"].get("annotations") or NO_FIELDS))

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


def _default_affinity(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client_ip = (spec.get("sessionAffinityConfig") or NO_FIELDS).get("clientIP") or NO_FIELDS
        if "timeoutSeconds" not in client_ip:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def _drop_what_the_type_ends(new: Object, old: Json) -> None:
    """A change of type takes along what only the old type had, unless the client set it anew."""
    spec, before = new["spec"], facts.spec_of(old)
    if facts.needs_cluster_ip(before) and not facts.needs_cluster_ip(spec):
        if _unchanged(spec, before, "clusterIP") and _unchanged(spec, before, "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        for name in ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if _unchanged(spec, before, name):
                _drop(spec, name)
    lost_node_ports = facts.needs_node_ports(before) and not facts.needs_node_ports(spec)
    if lost_node_ports and set(facts.node_ports(before)) >= set(facts.node_ports(spec)):
        for port in spec.get("ports") or NO_ITEMS:
            port.pop("nodePort", None)
    lost_health_check = facts.needs_health_check_port(before) and not facts.needs_health_check_port(spec)
    if lost_health_check and _unchanged(spec, before, "healthCheckNodePort"):
        _drop(spec, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if _unchanged(spec, before, name):
                _drop(spec, name)
    lost_access = facts.is_externally_accessible(before) and not facts.is_externally_accessible(spec)
    if lost_access and _unchanged(spec, before, "externalTrafficPolicy"):
        _drop(spec, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        new["status"] = {**(new.get("status") or NO_FIELDS), "loadBalancer": {}}


def _unchanged(spec: Json, before: Json, name: str) -> bool:
    return (spec.get(name) or None) == (before.get(name) or None)


def _drop(spec: Object, *names: str) -> None:
    for name in names:
        spec.pop(name, None)


def _warnings(spec: Json, annotations: Mapping[str, str]) -> Iterator[str]:
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == facts.NONE
    external_ips, balancer_ip = spec.get("externalIPs") or NO_ITEMS, spec.get("loadBalancerIP", "")
    if TOPOLOGY_HINTS in annotations:
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    if spec.get("clusterIP") not in (None, "", facts.NONE):
        for i, ip in enumerate(spec.get("clusterIPs") or NO_ITEMS):
            yield from addresses.ip_warnings(ip, f"spec.clusterIPs[{i}]")
    if headless:
        if balancer_ip:
            yield "spec.loadBalancerIP is ignored for headless services"
        if external_ips:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for i, ip in enumerate(external_ips):
        yield from addresses.ip_warnings(ip, f"spec.externalIPs[{i}]")
    if external_ips and not headless and spec.get("type") != facts.EXTERNAL_NAME:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if balancer_ip:
        yield from addresses.ip_warnings(balancer_ip, "spec.loadBalancerIP")
    for i, value in enumerate(spec.get("loadBalancerSourceRanges") or NO_ITEMS):
        yield from addresses.cidr_warnings(value, f"spec.loadBalancerSourceRanges[{i}]")
    if spec.get("type") == facts.EXTERNAL_NAME and external_ips:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("type") != facts.EXTERNAL_NAME and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


SERVICE = ServiceStrategy(ServiceAllocator(PortAllocator()))
