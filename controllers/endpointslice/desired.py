"""The endpoints a Service should have, grouped by their ports. Pure.

utils.go and reconciler.go of k8s.io/endpointslice, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controllers import pods
from controllers.services import membership
from controllers.services.port_order import sorted_slice_ports
from controllers.services.slices import EndpointIdentity, endpoint_identity, ports_key
from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted, labels_of, name_of

ZONE = "topology.kubernetes.io/zone"


@dataclass(slots=True)
class PortGroup:
    """Endpoints with the same ports; they may share slices."""

    ports: list[Object]
    endpoints: dict[EndpointIdentity, Object] = field(default_factory=dict)


@dataclass(slots=True)
class Desired:
    """`unknown_nodes`: pods left out because their node does not exist (pod name, node name)."""

    groups: dict[tuple[Any, ...], PortGroup] = field(default_factory=dict)
    unknown_nodes: list[tuple[str, str]] = field(default_factory=list)


def address_types(service: ReadOnlyObject) -> list[str]:
    """IPv4, IPv6 or both: the Service's families, or what its address tells, or both for a headless one."""
    spec = service["spec"]
    families = [family for family in spec.get("ipFamilies") or () if family in ("IPv4", "IPv6")]
    if families:
        return list(dict.fromkeys(families))
    if membership.is_headless(service):
        return ["IPv4", "IPv6"]
    address = parse_ip(spec["clusterIP"])
    return ["IPv6" if address is not None and address.version == 6 else "IPv4"]


def desired(
    service: ReadOnlyObject, its_pods: Iterable[ReadOnlyObject], nodes: Mapping[str, ReadOnlyObject], address_type: str
) -> Desired:
    """`nodes`: those that exist, by name."""
    result = Desired()
    publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
    for pod in its_pods:
        if not membership.may_be_listed(pod, include_terminating=True):
            continue
        ports = endpoint_ports(service, pod)
        group = result.groups.setdefault(ports_key(ports), PortGroup(ports))
        node_name = pods.node_of(pod)
        node = nodes.get(node_name)
        if node is None and not publishes_all:
            result.unknown_nodes.append((name_of(pod), node_name))
            continue
        endpoint = _endpoint(pod, node, service, address_type)
        if endpoint["addresses"]:
            group.endpoints[endpoint_identity(endpoint)] = endpoint
    return result


def endpoint_ports(service: ReadOnlyObject, pod: ReadOnlyObject) -> list[Object]:
    """The ports at which the pod serves the Service; a name the pod does not know is left out."""
    ports = []
    for service_port in service["spec"].get("ports") or ():
        number = membership.target_port(pod, service_port)
        if number is None:
            continue
        port: Object = {
            "name": service_port.get("name") or "",
            "port": number,
            "protocol": service_port.get("protocol") or "TCP",
        }
        if service_port.get("appProtocol") is not None:
            port["appProtocol"] = service_port["appProtocol"]
        ports.append(port)
    return sorted_slice_ports(ports)


def _endpoint(pod: ReadOnlyObject, node: ReadOnlyObject | None, service: ReadOnlyObject, address_type: str) -> Object:
    is_serving, is_terminating = pods.is_ready(pod), is_being_deleted(pod)
    publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
    endpoint: Object = {
        "addresses": membership.addresses(pod, address_type),
        "conditions": {
            "ready": publishes_all or (is_serving and not is_terminating),
            "serving": is_serving,
            "terminating": is_terminating,
        },
        "targetRef": membership.target(pod),
    }
    optional = {
        "nodeName": pods.node_of(pod),
        "zone": labels_of(node).get(ZONE) if node is not None else "",
        "hostname": membership.hostname(pod, service),
    }
    return endpoint | {name: value for name, value in optional.items() if value}
