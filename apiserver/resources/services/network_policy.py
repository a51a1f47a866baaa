"""Network policies: which peers the pods of a selector may talk with, and on which ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_cidr,
    check_label_selector,
    check_one_of,
    check_port_number,
    check_port_number_or_name,
)
from apiserver.resources.filling import fill
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

# Each direction: the type that names it, its rules, and their list of peers.
DIRECTIONS = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))
PROTOCOLS = ("TCP", "UDP", "SCTP")
TYPES = tuple(name for name, _, _ in DIRECTIONS)


class NetworkPolicyStrategy(SpecKind):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        for _, _, rule in _rules(spec):
            for port in rule.get("ports") or NO_ITEMS:
                fill(port, {"protocol": "TCP"})
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def blank_status(self, obj: Object) -> Any:
        return None

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_label_selector(spec.get("podSelector"), "spec.podSelector", errors)
        for path, peers, rule in _rules(spec):
            for i, port in enumerate(rule.get("ports") or NO_ITEMS):
                _check_port(port, f"{path}.ports[{i}]", errors)
            for i, peer in enumerate(rule.get(peers) or NO_ITEMS):
                _check_peer(peer, f"{path}.{peers}[{i}]", errors)
        _check_types(spec["policyTypes"], "spec.policyTypes", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return list(_warnings(obj["spec"]))


def _rules(spec: Json) -> Iterator[tuple[str, str, Object]]:
    """Every rule with its path and the name of its list of peers."""
    for _, name, peers in DIRECTIONS:
        for i, rule in enumerate(spec.get(name) or NO_ITEMS):
            yield f"spec.{name}[{i}]", peers, rule


def _check_types(types: Sequence[str], path: str, errors: Errors) -> None:
    if len(types) > len(TYPES):
        errors.append(field.invalid(path, types, "may not specify more than two policyTypes"))
        return
    for i, name in enumerate(types):
        check_one_of(name, TYPES, f"{path}[{i}]", errors)


def _check_port(rule: Json, path: str, errors: Errors) -> None:
    check_one_of(rule["protocol"], PROTOCOLS, f"{path}.protocol", errors)
    port, end = rule.get("port"), rule.get("endPort")
    if end is not None and isinstance(port, int):
        check_port_number(port, f"{path}.port", errors)
        if end < port:
            errors.append(field.invalid(f"{path}.endPort", port, "must be greater than or equal to `port`"))
        check_port_number(end, f"{path}.endPort", errors)
        return
    if end is not None:
        missing = "not specified" if port is None else "non-numeric"
        errors.append(field.invalid(f"{path}.endPort", end, f"may not be specified when `port` is {missing}"))
    if port is not None:
        check_port_number_or_name(port, f"{path}.port", errors)


def _check_peer(peer: Json, path: str, errors: Errors) -> None:
    """Selectors of pods, of namespaces or of both, or else a block of addresses."""
    for name in ("podSelector", "namespaceSelector"):
        check_label_selector(peer.get(name), f"{path}.{name}", errors)
    block = peer.get("ipBlock")
    if block is not None:
        _check_block(block, f"{path}.ipBlock", errors)
    if not any(peer.get(name) is not None for name in ("podSelector", "namespaceSelector", "ipBlock")):
        errors.append(field.required(path, "must specify a peer"))
    elif block is not None and len(peer) > 1:
        errors.append(field.forbidden(path, "may not specify both ipBlock and another peer"))


def _check_block(block: Json, path: str, errors: Errors) -> None:
    cidr = block.get("cidr", "")
    if not cidr:
        errors.append(field.required(f"{path}.cidr"))
        return
    check_cidr(cidr, f"{path}.cidr", errors)
    network = addresses.parse_cidr(cidr)
    if network is None:
        return
    for i, text in enumerate(block.get("except") or NO_ITEMS):
        at = f"{path}.except[{i}]"
        check_cidr(text, at, errors)
        if (part := addresses.parse_cidr(text)) is not None:
            inside = part.network_address.version == network.version and part.network_address in network
            if not inside or network.prefixlen >= part.prefixlen:
                errors.append(field.invalid(at, text, "must be a strict subset of `cidr`"))


def _warnings(spec: Json) -> Iterator[str]:
    for path, peers, rule in _rules(spec):
        for i, peer in enumerate(rule.get(peers) or NO_ITEMS):
            block, at = peer.get("ipBlock") or NO_FIELDS, f"{path}.{peers}[{i}].ipBlock"
            yield from addresses.cidr_warnings(block.get("cidr", ""), f"{at}.cidr")
            for j, text in enumerate(block.get("except") or NO_ITEMS):
                yield from addresses.cidr_warnings(text, f"{at}.except[{j}]")


NETWORK_POLICY = NetworkPolicyStrategy()
