"""What Kubernetes checks of a Service, in its order, and what may not change about one."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_choice,
    check_cidr,
    check_dns_label,
    check_dns_subdomain,
    check_ip,
    check_labels,
    check_one_of,
    check_port_number,
    check_port_number_or_name,
    check_qualified_name,
)
from apiserver.resources.services import facts
from apiserver.resources.services.ip_families import SINGLE, check_cluster_ip_fields
from kubeloop.apimachinery import addresses, field

Json = Mapping[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
AFFINITIES = ("ClientIP", "None")
TRAFFIC_POLICIES = ("Cluster", "Local")
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
IP_MODES = ("Proxy", "VIP")
MAX_AFFINITY_SECONDS = 86400
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"

_FOR_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
# Of IPv6 every address of the scope, whatever its flags.
_LINK_LOCAL_MULTICAST: tuple[IPv4Network | IPv6Network, ...] = (
    ip_network("224.0.0.0/24"),
    *(ip_network(f"ff{flags:x}2::/16") for flags in range(16)),
)


def check_service(service: Json, errors: Errors) -> None:
    spec, annotations = facts.spec_of(service), service["metadata"].get("annotations") or NO_FIELDS
    _check_topology_annotations(annotations, errors)
    _check_type_needs(spec, errors)
    _check_ports(spec, errors)
    check_labels(spec.get("selector"), "spec.selector", errors)
    _check_affinity(spec, errors)
    check_cluster_ip_fields(spec, errors)
    for i, ip in enumerate(spec.get("externalIPs") or NO_ITEMS):
        _check_external_ip(ip, f"spec.externalIPs[{i}]", errors)
    check_choice(spec.get("type"), TYPES, "spec.type", errors)
    _check_port_numbers_unique(spec, errors)
    _check_source_ranges(spec, annotations, errors)
    _check_load_balancer(spec, errors)
    _check_traffic(spec, errors)


def check_changes(new: Json, old: Json, errors: Errors) -> None:
    """Addresses and families once given stay; so does a load balancer's class."""
    spec, before = facts.spec_of(new), facts.spec_of(old)
    if facts.needs_cluster_ip(spec) and facts.needs_cluster_ip(before):
        _check_addresses_kept(spec, before, errors)
        _check_families_kept(spec, before, errors)
    if before.get("type") == spec.get("type") == "LoadBalancer":
        wanted = spec.get("loadBalancerClass")
        if wanted != before.get("loadBalancerClass"):
            errors.append(field.invalid("spec.loadBalancerClass", wanted, "may not change once set"))
    _check_load_balancer_class(spec, errors)
    keeps_health_check = facts.needs_health_check_port(before) and facts.needs_health_check_port(spec)
    if keeps_health_check and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        errors.append(field.forbidden("spec.healthCheckNodePort", "field is immutable"))


def check_load_balancer_status(service: Json, errors: Errors) -> None:
    ingress = facts.load_balancer_points(service)
    path = "status.loadBalancer.ingress"
    if ingress and facts.spec_of(service).get("type") != "LoadBalancer":
        errors.append(field.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"))
        return
    for i, point in enumerate(ingress):
        at, ip, mode = f"{path}[{i}]", point.get("ip", ""), point.get("ipMode")
        if ip:
            check_ip(ip, f"{at}.ip", errors)
        if mode is None:
            if ip:
                errors.append(field.required(f"{at}.ipMode", "must be specified when `ip` is set"))
        elif not ip:
            errors.append(field.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        else:
            check_one_of(mode, IP_MODES, f"{at}.ipMode", errors)
        check_ingress_hostname(point.get("hostname", ""), f"{at}.hostname", errors)


def check_ingress_hostname(name: str, path: str, errors: Errors) -> None:
    if name:
        check_dns_subdomain(name, path, errors)
        if addresses.looks_like_ip(name):
            errors.append(field.invalid(path, name, "must be a DNS name, not an IP address"))


def check_reachable_ip(ip: str, path: str, errors: Errors) -> None:
    """An address that another host can use."""
    parsed = addresses.parse_sloppily(ip)
    if parsed is None:
        errors.append(field.invalid(path, ip, "must be a valid IP address"))
        return
    address = addresses.unmapped(parsed)
    if address.is_unspecified:
        errors.append(field.invalid(path, ip, f"may not be unspecified ({ip})"))
    if address.is_loopback:
        errors.append(field.invalid(path, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        errors.append(field.invalid(path, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if any(address in network for network in _LINK_LOCAL_MULTICAST if network.version == address.version):
        reason = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(field.invalid(path, ip, reason))


def _check_topology_annotations(annotations: Mapping[str, str], errors: Errors) -> None:
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS)
    if mode is not None and hints is not None and mode != hints:
        reason = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
        errors.append(field.invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, reason))


def _check_type_needs(spec: Json, errors: Errors) -> None:
    kind = spec.get("type")
    if not spec.get("ports") and not facts.is_headless(spec) and kind != facts.EXTERNAL_NAME:
        errors.append(field.required("spec.ports"))
    if kind in facts.NODE_PORT_TYPES and facts.is_headless(spec):
        reason = f"may not be set to 'None' for {kind} services"
        errors.append(field.invalid("spec.clusterIPs[0]", spec["clusterIPs"][0], reason))
    if kind == facts.EXTERNAL_NAME:
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) or (name == "ipFamilyPolicy" and name in spec):
                errors.append(field.forbidden(f"spec.{name}", "may not be set for ExternalName services"))
        if name := spec.get("externalName", "").removesuffix("."):
            check_dns_subdomain(name, "spec.externalName", errors)
        else:
            errors.append(field.required("spec.externalName"))


def _check_ports(spec: Json, errors: Errors) -> None:
    ports = spec.get("ports") or NO_ITEMS
    names: set[str] = set()
    for i, port in enumerate(ports):
        at, name = f"spec.ports[{i}]", port.get("name", "")
        if name:
            check_dns_label(name, f"{at}.name", errors)
            if name in names:
                errors.append(field.duplicate(f"{at}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(field.required(f"{at}.name"))
        check_port_number(port.get("port", 0), f"{at}.port", errors)
        check_choice(port.get("protocol"), PROTOCOLS, f"{at}.protocol", errors)
        check_port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort", errors)
        if "appProtocol" in port:
            check_qualified_name(port["appProtocol"], f"{at}.appProtocol", errors)


def _check_affinity(spec: Json, errors: Errors) -> None:
    affinity, config, path = (
        spec.get("sessionAffinity"),
        spec.get("sessionAffinityConfig"),
        "spec.sessionAffinityConfig",
    )
    check_choice(affinity, AFFINITIES, "spec.sessionAffinity", errors)
    if affinity == "None" and config is not None:
        errors.append(field.forbidden(path, "must not be set when session affinity is None"))
    if affinity != "ClientIP":
        return
    seconds = ((config or NO_FIELDS).get("clientIP") or NO_FIELDS).get("timeoutSeconds", 0)
    if not 0 < seconds <= MAX_AFFINITY_SECONDS:
        reason = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
        errors.append(field.invalid(f"{path}.clientIP.timeoutSeconds", seconds, reason))


def _check_external_ip(ip: str, path: str, errors: Errors) -> None:
    before = len(errors)
    check_ip(ip, path, errors)
    if len(errors) == before:
        check_reachable_ip(ip, path, errors)


def _check_port_numbers_unique(spec: Json, errors: Errors) -> None:
    ports = spec.get("ports") or NO_ITEMS
    if spec.get("type") == "ClusterIP":
        for i, port in enumerate(ports):
            if port.get("nodePort"):
                reason = "may not be used when `type` is 'ClusterIP'"
                errors.append(field.forbidden(f"spec.ports[{i}].nodePort", reason))
    node_ports: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        if port.get("nodePort"):
            place = (port.get("protocol", ""), port["nodePort"])
            if place in node_ports:
                errors.append(field.duplicate(f"spec.ports[{i}].nodePort", port["nodePort"]))
            node_ports.add(place)
    numbers: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        protocol, number = port.get("protocol", ""), port.get("port", 0)
        if (protocol, number) in numbers:
            errors.append(field.duplicate(f"spec.ports[{i}]", _go_port(protocol, number)))
        numbers.add((protocol, number))


def _go_port(protocol: str, number: int) -> Json:
    return {
        "Name": "",
        "Protocol": protocol,
        "AppProtocol": None,
        "Port": number,
        "TargetPort": 0,
        "NodePort": 0,
    }


def _check_source_ranges(spec: Json, annotations: Mapping[str, str], errors: Errors) -> None:
    ranges = spec.get("loadBalancerSourceRanges")
    if not ranges and SOURCE_RANGES not in annotations:
        return
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{SOURCE_RANGES}]"
    if spec.get("type") != "LoadBalancer":
        errors.append(field.forbidden(path, _FOR_LOAD_BALANCERS))
    if ranges:
        for i, value in enumerate(ranges):
            check_cidr(value.strip(), f"{path}[{i}]", errors)
    elif text := annotations[SOURCE_RANGES].strip():
        for value in text.split(","):
            check_cidr(value.strip(), path, errors)


def _check_load_balancer(spec: Json, errors: Errors) -> None:
    if "allocateLoadBalancerNodePorts" in spec and spec.get("type") != "LoadBalancer":
        errors.append(field.forbidden("spec.allocateLoadBalancerNodePorts", _FOR_LOAD_BALANCERS))
    _check_load_balancer_class(spec, errors)


def _check_load_balancer_class(spec: Json, errors: Errors) -> None:
    if "loadBalancerClass" not in spec:
        return
    if spec.get("type") == "LoadBalancer":
        check_qualified_name(spec["loadBalancerClass"], "spec.loadBalancerClass", errors)
    else:
        errors.append(field.forbidden("spec.loadBalancerClass", _FOR_LOAD_BALANCERS))


def _check_traffic(spec: Json, errors: Errors) -> None:
    external, path = spec.get("externalTrafficPolicy", ""), "spec.externalTrafficPolicy"
    if facts.is_externally_accessible(spec):
        check_choice(external, TRAFFIC_POLICIES, path, errors)
    elif external:
        errors.append(field.invalid(path, external, "may only be set for externally-accessible services"))
    health_port, path = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if not facts.needs_health_check_port(spec):
        if health_port:
            reason = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(field.invalid(path, health_port, reason))
    elif not health_port:
        errors.append(field.required(path))
    else:
        check_port_number(health_port, path, errors)
    internal = spec.get("internalTrafficPolicy")
    if internal is not None:
        check_one_of(internal, TRAFFIC_POLICIES, "spec.internalTrafficPolicy", errors)
    elif spec.get("type") in ("ClusterIP", *facts.NODE_PORT_TYPES):
        errors.append(field.required("spec.internalTrafficPolicy"))
    if "trafficDistribution" in spec:
        check_one_of(spec["trafficDistribution"], DISTRIBUTIONS, "spec.trafficDistribution", errors)


def _check_addresses_kept(spec: Json, before: Json, errors: Errors) -> None:
    if facts.is_headless(spec) and facts.is_headless(before):
        return
    new, old, path = (
        list(spec.get("clusterIPs") or NO_ITEMS),
        list(before.get("clusterIPs") or NO_ITEMS),
        "spec.clusterIPs",
    )
    fixed = "may not change once set"
    if len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            if was != now:
                errors.append(field.invalid(f"{path}[{i}]", new, fixed))
        return
    if len(old) > len(new) and not new:
        errors.append(field.invalid(f"{path}[0]", None, "primary clusterIP can not be unset"))
    if old and new and old[0] != new[0]:
        errors.append(field.invalid(f"{path}[0]", new, fixed))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != SINGLE:
        reason = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(field.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), reason))


def _check_families_kept(spec: Json, before: Json, errors: Errors) -> None:
    if facts.is_headless(spec) or facts.is_headless(before):
        return
    new, old, path = (
        list(spec.get("ipFamilies") or NO_ITEMS),
        list(before.get("ipFamilies") or NO_ITEMS),
        "spec.ipFamilies[0]",
    )
    fixed = "may not change once set"
    if len(old) == len(new):
        for was, now in zip(old, new, strict=True):
            if was != now:
                errors.append(field.invalid(path, new, fixed))
        return
    if len(old) > len(new) and not spec.get("clusterIPs"):
        errors.append(field.invalid(path, new or None, "primary ipFamily can not be unset"))
    if old and new and old[0] != new[0]:
        errors.append(field.invalid(path, list(spec.get("clusterIPs") or NO_ITEMS), fixed))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != SINGLE:
        reason = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(field.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), reason))
