"""Which slices to create, update and delete so that they hold the desired endpoints. Pure.

Slices are watched by every node, so as few as possible are touched: what changed is changed in place, new endpoints
fill slices that are written anyway, and only then others. Reconcile of k8s.io/endpointslice, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from controllers.endpointslice import hints, topology
from controllers.endpointslice.desired import PortGroup
from controllers.endpointslice.topology import Shares, Unfair
from controllers.services import slices
from controllers.services.membership import HEADLESS, is_headless
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    controller_reference,
    is_being_deleted,
    labels_of,
    name_of,
    namespace_of,
    owner_references_of,
    uid_of,
)

MANAGER = "endpointslice-controller.k8s.io"
MAX_ENDPOINTS = 100

_RESERVED_LABELS = frozenset({slices.SERVICE_NAME, slices.MANAGED_BY, HEADLESS})


@dataclass(slots=True)
class Changes:
    """`update` holds whole new objects, by name; `no_hints`: why there are none by zone where they are asked for."""

    create: list[Object] = field(default_factory=list)
    update: dict[str, Object] = field(default_factory=dict)
    delete: list[Object] = field(default_factory=list)
    no_hints: str = ""


def plan(
    service: ReadOnlyObject,
    existing: Sequence[Object],
    groups: Mapping[tuple[Any, ...], PortGroup],
    address_type: str,
    max_endpoints: int = MAX_ENDPOINTS,
    shares: Shares = MappingProxyType({}),
) -> Changes:
    """The changes to the slices (`existing`) of one address type. `shares`: for a Service that asks for them."""
    changes = Changes(delete=[found for found in existing if not is_owned(found, service)])
    by_ports: dict[tuple[Any, ...], list[Object]] = {}
    for found in existing:
        if is_owned(found, service):
            by_ports.setdefault(slices.ports_key(found.get("ports")), []).append(found)
    for key, group in groups.items():
        _fit(service, by_ports.pop(key, []), group, address_type, max_endpoints, changes)
    changes.delete += [found for unwanted in by_ports.values() for found in unwanted]
    _keep_a_placeholder(service, existing, address_type, changes)
    _hint(service, existing, shares, changes)
    _reuse_deleted(service, changes)
    if is_being_deleted(service):
        changes.create = []  # the garbage collector takes the slices; new ones would race with it
    return changes


def is_owned(endpoint_slice: ReadOnlyObject, service: ReadOnlyObject) -> bool:
    """Whether it is of this very Service and not of one of the same name before it."""
    owner = ("v1", "Service", uid_of(service))
    return any(
        (ref.get("apiVersion"), ref.get("kind"), ref.get("uid")) == owner for ref in owner_references_of(endpoint_slice)
    )


def new_slice(service: ReadOnlyObject, ports: Iterable[Object], address_type: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": slices.name_prefix(name_of(service)),
            "namespace": namespace_of(service),
            "labels": slice_labels(service),
            "ownerReferences": [controller_reference(service, "v1", "Service")],
        },
        "addressType": address_type,
        "endpoints": [],
        "ports": list(ports),
    }


def slice_labels(service: ReadOnlyObject) -> dict[str, str]:
    """The Service's own labels, and those that say whose slice it is."""
    labels = {k: v for k, v in labels_of(service).items() if k not in _RESERVED_LABELS}
    if is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, slices.SERVICE_NAME: name_of(service), slices.MANAGED_BY: MANAGER}


def _fit(
    service: ReadOnlyObject,
    existing: Sequence[Object],
    group: PortGroup,
    address_type: str,
    max_endpoints: int,
    changes: Changes,
) -> None:
    """Distribute one group of endpoints over the slices with its ports."""
    left = dict(group.endpoints)
    labels = slice_labels(service)
    changed: list[Object] = []
    unchanged: list[Object] = []
    for found in existing:
        before = found.get("endpoints") or []
        kept = [left.pop(identity) for identity in map(slices.endpoint_identity, before) if identity in left]
        is_changed = len(kept) != len(before) or not all(map(slices.is_same_endpoint, kept, before))
        if is_changed and not kept:
            changes.delete.append(found)
        elif is_changed or _own_labels(found) != _own_labels({"metadata": {"labels": labels}}):
            changed.append(_with(found, labels, kept))
        else:
            unchanged.append(found)
    _fill(changed, left, max_endpoints)
    changes.update |= {name_of(each): each for each in changed}
    while left:
        target = _nearly_full(unchanged, len(left), max_endpoints) if len(left) < max_endpoints else None
        if target is None:
            fresh = new_slice(service, group.ports, address_type)
            _fill([fresh], left, max_endpoints)
            changes.create.append(fresh)
        else:
            unchanged.remove(target)
            grown = _with(target, labels, target.get("endpoints") or [])
            _fill([grown], left, max_endpoints)
            changes.update[name_of(grown)] = grown


def _fill(targets: Iterable[Object], left: dict[Any, Object], max_endpoints: int) -> None:
    """Put what is left into the targets, the fullest first. The targets are copies of ours."""
    for target in sorted(targets, key=lambda each: -len(each["endpoints"])):
        while left and len(target["endpoints"]) < max_endpoints:
            target["endpoints"].append(left.pop(next(iter(left))))


def _nearly_full(candidates: Sequence[Object], count: int, max_endpoints: int) -> Object | None:
    """The slice that `count` more endpoints fill best; None where they fit into none."""
    room = [(max_endpoints - count - len(each.get("endpoints") or []), i) for i, each in enumerate(candidates)]
    fitting = [entry for entry in room if 0 <= entry[0] < max_endpoints]
    return candidates[min(fitting)[1]] if fitting else None


def _keep_a_placeholder(
    service: ReadOnlyObject, existing: Sequence[Object], address_type: str, changes: Changes
) -> None:
    """A Service has at least one slice, if an empty one, so that consumers can tell "none" from "not yet"."""
    if changes.create or len(existing) != len(changes.delete):
        return
    placeholder = new_slice(service, [], address_type)
    if len(changes.delete) == 1 and _is_placeholder(changes.delete[0], placeholder, service):
        changes.delete = []
    else:
        changes.create.append(placeholder)


def _is_placeholder(found: Object, placeholder: Object, service: ReadOnlyObject) -> bool:
    return (
        not found.get("endpoints")
        and not found.get("ports")
        and labels_of(found) == labels_of(placeholder)
        and is_owned(found, service)
    )


def _hint(service: ReadOnlyObject, existing: Sequence[Object], shares: Shares, changes: Changes) -> None:
    """Give every endpoint its hints; an untouched slice is written only where they are wrong."""
    deleted = {name_of(found) for found in changes.delete}
    untouched = [found for found in existing if name_of(found) not in changes.update and name_of(found) not in deleted]
    written = [*changes.create, *changes.update.values()]
    if topology.is_asked_for(service):
        try:
            _hint_by_zone(written, untouched, shares, changes)
            return
        except Unfair as reason:
            changes.no_hints = str(reason)
    for each in written:
        each["endpoints"] = hints.hinted(service, each["endpoints"])
    for found in untouched:
        endpoints = found.get("endpoints") or []
        right = hints.hinted(service, endpoints)
        if right != endpoints:
            changes.update[name_of(found)] = _with(found, labels_of(found), right)


def _hint_by_zone(written: Sequence[Object], untouched: Sequence[Object], shares: Shares, changes: Changes) -> None:
    given, wrong = topology.hinted(written, untouched, shares)
    for each, right in zip(written, given, strict=True):
        each["endpoints"] = right["endpoints"]
    changes.update |= {name_of(each): each for each in wrong}


def _reuse_deleted(service: ReadOnlyObject, changes: Changes) -> None:
    """A slice to delete and one to create become one update, which watchers take more easily."""
    for found in list(changes.delete):
        if not changes.create:
            return
        if not is_owned(found, service) or found["addressType"] != changes.create[-1]["addressType"]:
            continue
        created = changes.create.pop()
        changes.delete.remove(found)
        changed = _with(found, labels_of(created), created["endpoints"])
        changes.update[name_of(found)] = {**changed, "ports": created["ports"]}


def _with(found: Object, labels: Mapping[str, str], endpoints: Sequence[Object]) -> Object:
    """A copy with other labels and endpoints."""
    metadata = {**found["metadata"], "labels": dict(labels)}
    return {**found, "metadata": metadata, "endpoints": list(endpoints)}


def _own_labels(endpoint_slice: ReadOnlyObject) -> dict[str, str]:
    return {k: v for k, v in labels_of(endpoint_slice).items() if k not in _RESERVED_LABELS}
