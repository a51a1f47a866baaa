"""What `kubectl get` shows of services, their endpoints, ingresses, policies and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from apiserver.printing.cells import AGE, NAME, NONE, UNSET, field, joined, labels, limited, selector
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, name_of

_SHOWN = 3  # ports, endpoints and hosts beyond these are only counted
_DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _spec(obj: ReadOnlyObject) -> Mapping[str, Any]:
    return obj.get("spec") or {}


def _cluster_ip(service: ReadOnlyObject, now: datetime) -> str:
    addresses = _spec(service).get("clusterIPs")
    return addresses[0] if addresses else NONE


def _external_ip(service: ReadOnlyObject, now: datetime) -> str:
    spec = _spec(service)
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(spec.get("externalIPs") or ()) or NONE
        case "LoadBalancer":
            balancer = _balancer_addresses(service)
            return ",".join(([balancer] if balancer else []) + list(spec.get("externalIPs") or ())) or "<pending>"
        case "ExternalName":
            return spec.get("externalName", "")
        case _:
            return "<unknown>"


def _balancer_addresses(obj: ReadOnlyObject) -> str:
    """The distinct addresses or host names of a load balancer, in order of the alphabet."""
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({one.get("ip") or one.get("hostname") or "" for one in ingress} - {""}))


def _service_port(port: Mapping[str, Any]) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else f"{port['port']}"
    return f"{number}/{port.get('protocol', '')}"


def _service_ports(service: ReadOnlyObject, now: datetime) -> str:
    return ",".join(map(_service_port, _spec(service).get("ports") or ())) or NONE


def _endpoints(endpoints: ReadOnlyObject, now: datetime) -> str:
    """Every address with every port: a subset without ports shows bare addresses."""
    subsets = endpoints.get("subsets")
    if not subsets:
        return NONE
    shown = [endpoint for subset in subsets for endpoint in _of_subset(subset)]
    return limited(shown[:_SHOWN], len(shown))


def _of_subset(subset: Mapping[str, Any]) -> Iterable[str]:
    addresses = [address["ip"] for address in subset.get("addresses") or ()]
    if not subset.get("ports"):
        return addresses
    return [_host_port(ip, port["port"]) for port in subset["ports"] for ip in addresses]


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _slice_ports(endpoint_slice: ReadOnlyObject, now: datetime) -> str:
    ports = endpoint_slice.get("ports") or ()
    shown = [_slice_port(port) for port in islice(ports, _SHOWN)]
    return limited(shown, len(ports)) if ports else UNSET


def _slice_port(port: Mapping[str, Any]) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    name = port.get("name")
    return "*" if name is None else name


def _slice_endpoints(endpoint_slice: ReadOnlyObject, now: datetime) -> str:
    endpoints = endpoint_slice.get("endpoints") or ()
    addresses = [address for endpoint in endpoints for address in endpoint.get("addresses") or ()]
    return limited(addresses[:_SHOWN], len(addresses)) or UNSET


def _hosts(ingress: ReadOnlyObject, now: datetime) -> str:
    """The hosts of the rules; rules without one are left out of the list and, as in kubectl, counted in the rest."""
    rules = _spec(ingress).get("rules") or ()
    shown: list[str] = []
    is_cut = False
    for rule in rules:
        is_cut = is_cut or len(shown) == _SHOWN
        if not is_cut and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    return limited(shown, len(rules) if is_cut else 0)


def _ingress_ports(ingress: ReadOnlyObject, now: datetime) -> str:
    return "80, 443" if _spec(ingress).get("tls") else "80"


def _ingress_class_name(ingress_class: ReadOnlyObject, now: datetime) -> str:
    is_default = annotations_of(ingress_class).get(_DEFAULT_INGRESS_CLASS) == "true"
    return f"{name_of(ingress_class)} (default)" if is_default else name_of(ingress_class)


def _parameters(ingress_class: ReadOnlyObject, now: datetime) -> str:
    parameters = _spec(ingress_class).get("parameters")
    if parameters is None:
        return NONE
    group = parameters.get("apiGroup")
    kind = parameters["kind"] if group is None else f"{parameters['kind']}.{group}"
    return f"{kind}/{parameters['name']}"


def _parent(address: ReadOnlyObject, now: datetime) -> str:
    parent = _spec(address).get("parentRef")
    if parent is None:
        return NONE
    resource, group = parent.get("resource", ""), parent.get("group")
    parts = [f"{resource}.{group}".lower() if group else resource.lower()]
    if parent.get("namespace"):
        parts.append(parent["namespace"])
    return "/".join([*parts, parent.get("name", "")])


SERVICE_COLUMNS = (
    NAME,
    Column("Type", "string", field("spec", "type")),
    Column("Cluster-IP", "string", _cluster_ip),
    Column("External-IP", "string", _external_ip),
    Column("Port(s)", "string", _service_ports),
    AGE,
    Column("Selector", "string", labels("spec", "selector"), priority=1),
)

ENDPOINTS_COLUMNS = (
    NAME,
    Column("Endpoints", "string", _endpoints),
    AGE,
)

ENDPOINT_SLICE_COLUMNS = (
    NAME,
    Column("AddressType", "string", field("addressType")),
    Column("Ports", "string", _slice_ports),
    Column("Endpoints", "string", _slice_endpoints),
    AGE,
)

INGRESS_COLUMNS = (
    NAME,
    Column("Class", "string", field("spec", "ingressClassName", default=NONE)),
    Column("Hosts", "string", _hosts),
    Column("Address", "string", lambda ingress, now: _balancer_addresses(ingress)),
    Column("Ports", "string", _ingress_ports),
    AGE,
)

INGRESS_CLASS_COLUMNS = (
    Column("Name", "string", _ingress_class_name, format="name"),
    Column("Controller", "string", field("spec", "controller")),
    Column("Parameters", "string", _parameters),
    AGE,
)

NETWORK_POLICY_COLUMNS = (
    NAME,
    Column("Pod-Selector", "string", selector("spec", "podSelector")),
    AGE,
)

SERVICE_CIDR_COLUMNS = (
    NAME,
    Column("CIDRs", "string", joined("spec", "cidrs")),
    AGE,
)

IP_ADDRESS_COLUMNS = (
    NAME,
    Column("ParentRef", "string", _parent),
    Column(AGE.name, AGE.type, AGE.cell, defined=False),
)
