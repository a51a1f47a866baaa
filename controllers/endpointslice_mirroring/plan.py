"""The slices that mirror an Endpoints object: one for each set of ports and address type. Pure.

pkg/controller/endpointslicemirroring, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllers.services import slices, subsets, trigger_times
from controllers.services.port_order import sorted_slice_ports
from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    annotations_of,
    controller_reference,
    is_being_deleted,
    labels_of,
    name_of,
    namespace_of,
    owner_references_of,
    uid_of,
)

MANAGER = "endpointslicemirroring-controller.k8s.io"
MAX_PER_SUBSET = 1000
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

GroupKey = tuple[str, tuple[Any, ...]]


@dataclass(slots=True)
class Group:
    address_type: str
    ports: list[Object]
    endpoints: dict[slices.EndpointIdentity, Object] = field(default_factory=dict)


@dataclass(slots=True)
class Mirror:
    """`invalid`: addresses that are none; `skipped`: all that were left out."""

    groups: dict[GroupKey, Group] = field(default_factory=dict)
    invalid: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Changes:
    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)


def desired(endpoints: ReadOnlyObject, most: int = MAX_PER_SUBSET) -> Mirror:
    mirror = Mirror()
    for subset in subsets.repack(endpoints.get("subsets") or []):
        ports = _slice_ports(subset.get("ports") or [])
        addresses = [(address, True) for address in subset.get("addresses") or []]
        addresses += [(address, False) for address in subset.get("notReadyAddresses") or []]
        added = 0
        for address, is_ready in addresses:
            endpoint = _endpoint(address, is_ready)
            if endpoint is None:
                mirror.invalid += 1
            elif added < most:
                added += 1
                address_type = "IPv6" if ":" in endpoint["addresses"][0] else "IPv4"
                key = (address_type, slices.ports_key(ports))
                group = mirror.groups.setdefault(key, Group(address_type, ports))
                group.endpoints[slices.endpoint_identity(endpoint)] = endpoint
        mirror.skipped += len(addresses) - added
    return mirror


def plan(endpoints: ReadOnlyObject, existing: Sequence[Object], groups: Mapping[GroupKey, Group]) -> Changes:
    changes = Changes()
    by_key: dict[GroupKey, list[Object]] = {}
    for found in existing:
        by_key.setdefault((found["addressType"], slices.ports_key(found.get("ports"))), []).append(found)
    for key, group in groups.items():
        present = by_key.pop(key, [])
        wanted = _slice(endpoints, group)
        changes.delete += present[1:]
        if not present:
            changes.create.append(wanted)
        elif not _is_right(endpoints, present[0], wanted, group):
            changes.update.append(_in_place_of(present[0], wanted))
    changes.delete += [found for unwanted in by_key.values() for found in unwanted]
    _reuse_deleted(changes)
    if is_being_deleted(endpoints):
        changes.create = []
    return changes


def _slice(endpoints: ReadOnlyObject, group: Group) -> Object:
    labels = {**labels_of(endpoints), slices.SERVICE_NAME: name_of(endpoints), slices.MANAGED_BY: MANAGER}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": slices.name_prefix(name_of(endpoints)),
            "namespace": namespace_of(endpoints),
            "labels": labels,
            "annotations": _mirrored_annotations(endpoints),
            "ownerReferences": [controller_reference(endpoints, "v1", "Endpoints")],
        },
        "addressType": group.address_type,
        "endpoints": list(group.endpoints.values()),
        "ports": group.ports,
    }


def _is_right(endpoints: ReadOnlyObject, present: Object, wanted: Object, group: Group) -> bool:
    before = {slices.endpoint_identity(endpoint): endpoint for endpoint in present.get("endpoints") or []}
    after = group.endpoints
    return (
        before.keys() == after.keys()
        and all(slices.is_same_endpoint(before[identity], after[identity]) for identity in after)
        and labels_of(present) == labels_of(wanted)
        and dict(annotations_of(present)) == annotations_of(wanted)
        and any(ref.get("uid") == uid_of(endpoints) for ref in owner_references_of(present))
    )


def _reuse_deleted(changes: Changes) -> None:
    """A slice to delete and one of the same address type to create become one update."""
    for found in list(changes.delete):
        twin = next((made for made in changes.create if made["addressType"] == found["addressType"]), None)
        if twin is not None:
            changes.create.remove(twin)
            changes.delete.remove(found)
            changes.update.append(_in_place_of(found, twin))


def _in_place_of(present: Object, wanted: Object) -> Object:
    described = {k: v for k, v in wanted["metadata"].items() if k != "generateName"}
    return {**wanted, "metadata": {**present["metadata"], **described}}


def _mirrored_annotations(endpoints: ReadOnlyObject) -> dict[str, str]:
    left_out = (trigger_times.ANNOTATION, _LAST_APPLIED)
    return {k: v for k, v in annotations_of(endpoints).items() if k not in left_out}


def _slice_ports(ports: Sequence[Mapping[str, Any]]) -> list[Object]:
    return sorted_slice_ports(
        {"name": port.get("name") or "", **{k: v for k, v in port.items() if k != "name"}} for port in ports
    )


def _endpoint(address: Mapping[str, Any], is_ready: bool) -> Object | None:
    parsed = parse_ip(address.get("ip", ""))
    if parsed is None:
        return None
    kept = {name: address[name] for name in ("targetRef", "nodeName", "hostname") if address.get(name)}
    return {"addresses": [str(parsed)], "conditions": {"ready": is_ready}, **kept}
