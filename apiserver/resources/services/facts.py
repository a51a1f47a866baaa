"""What a Service's type and policies imply: the questions its defaults, checks and allocation all ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from kubeloop.apimachinery import addresses

Json = Mapping[str, Any]

NONE = "None"
EXTERNAL_NAME = "ExternalName"
NODE_PORT_TYPES = ("NodePort", "LoadBalancer")


def spec_of(service: Json) -> Json:
    return service.get("spec") or NO_FIELDS


def needs_cluster_ip(spec: Json) -> bool:
    return spec.get("type") != EXTERNAL_NAME


def needs_node_ports(spec: Json) -> bool:
    return spec.get("type") in NODE_PORT_TYPES


def needs_health_check_port(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Json) -> bool:
    return needs_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def is_headless(spec: Json) -> bool:
    return list(spec.get("clusterIPs") or NO_ITEMS) == [NONE]


def addresses_of(spec: Json) -> Sequence[str]:
    """The cluster IPs it has: none where it needs none, or is headless."""
    return () if not needs_cluster_ip(spec) or is_headless(spec) else spec.get("clusterIPs") or NO_ITEMS


def is_headless_without_selector(spec: Json) -> bool:
    return spec.get("clusterIP") == NONE and not spec.get("selector")


def node_ports(spec: Json) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or NO_ITEMS if port.get("nodePort")]


def load_balancer_points(obj: Json) -> Sequence[Json]:
    """Where a load balancer says it can be reached, of a Service or an Ingress."""
    balancer = (obj.get("status") or NO_FIELDS).get("loadBalancer") or NO_FIELDS
    points: Sequence[Json] = balancer.get("ingress") or NO_ITEMS
    return points


def load_balancer_warnings(obj: Json) -> list[str]:
    return [
        warning
        for i, point in enumerate(load_balancer_points(obj))
        for warning in addresses.ip_warnings(point.get("ip", ""), f"status.loadBalancer.ingress[{i}]")
    ]
