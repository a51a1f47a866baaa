"""What a Service's type and policies imply: the questions its defaults, checks and allocation all ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS

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


def is_headless_without_selector(spec: Json) -> bool:
    return spec.get("clusterIP") == NONE and not spec.get("selector")


def node_ports(spec: Json) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or NO_ITEMS if port.get("nodePort")]
