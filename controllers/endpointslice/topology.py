"""Hints by zone for Services with the annotation service.kubernetes.io/topology-mode: Auto. Pure.

Each zone is to use as large a part of the endpoints as it has of the CPUs of all nodes. Endpoints serve their own zone
first; zones with too many give some to zones with too few. Where no fair split exists there are no hints at all, and an
event says why. k8s.io/endpointslice/topologycache, v1.36.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.endpointslice.desired import ZONE
from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, labels_of

ENABLED = "Topology Aware Hints has been enabled"
DISABLED = "Topology Aware Hints has been disabled"

_MODES = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_EXCLUDED = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
_MOST_OVERLOAD = 0.2  # how much more than its fair part of the traffic an endpoint may get

Shares = Mapping[str, float]  # a zone's part of all CPUs


class Unfair(Exception):
    """No hints can be given; the text says why."""


@dataclass(frozen=True, slots=True)
class _Allotment:
    """How many endpoints a zone should have: at least, at most, and exactly (a fraction)."""

    minimum: int
    maximum: int
    desired: float


def is_asked_for(service: ReadOnlyObject) -> bool:
    annotations = annotations_of(service)
    mode = next((annotations[name] for name in _MODES if name in annotations), "")
    return mode in ("Auto", "auto")


def shares_of(nodes: Iterable[ReadOnlyObject]) -> Shares:
    """Of the ready nodes that are no control plane; empty where one does not say its zone and CPUs, or for one zone."""
    cpus: Counter[str] = Counter()
    for node in nodes:
        if _EXCLUDED & labels_of(node).keys() or not is_true(conditions_of(node), "Ready"):
            continue
        zone, cpu = labels_of(node).get(ZONE), _millicores(node)
        if not zone or not cpu:
            return {}
        cpus[zone] += cpu
    total = cpus.total()
    return {zone: cpus[zone] / total for zone in sorted(cpus)} if len(cpus) >= 2 else {}


def what_matters(node: ReadOnlyObject) -> tuple[bool, str | None]:
    """The part of a node whose change moves shares."""
    return is_true(conditions_of(node), "Ready"), labels_of(node).get(ZONE)


def hinted(written: Sequence[Object], unchanged: Sequence[Object], shares: Shares) -> tuple[list[Object], list[Object]]:
    """The slices with hints, and those among `unchanged` whose hints were wrong, likewise.

    Raises Unfair where there are to be no hints.
    """
    count = sum(map(_is_ready, _endpoints_of_all([*written, *unchanged])))
    allotments = _allot(shares, count)
    used: Counter[str] = Counter()
    wrong = [found for found in unchanged if not _may_stay(found, allotments, used)]
    endpoints = [[_in_own_zone(endpoint, used) for endpoint in _endpoints(each)] for each in (*written, *wrong)]
    _even_out(endpoints, *_givers_and_takers(allotments, used))
    given = [{**each, "endpoints": of_slice} for each, of_slice in zip([*written, *wrong], endpoints, strict=True)]
    return given[: len(written)], given[len(written) :]


def _allot(shares: Shares, count: int) -> dict[str, _Allotment]:
    if not shares:
        raise Unfair("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes")
    numbers = f"({count} endpoints, {len(shares)} zones)"
    if len(shares) > count:
        raise Unfair(f"Insufficient number of endpoints {numbers}")
    minima = {zone: math.ceil(share * count * (1 / (1 + _MOST_OVERLOAD))) for zone, share in shares.items()}
    spare = count - sum(minima.values())
    if spare < 0:
        raise Unfair(
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold " + numbers
        )
    return {
        zone: _Allotment(minimum, minimum + spare, max(shares[zone] * count, minimum))
        for zone, minimum in minima.items()
    }


def _may_stay(endpoint_slice: ReadOnlyObject, allotments: Mapping[str, _Allotment], used: Counter[str]) -> bool:
    """Whether a slice's hints may stay as they are; then they count as used."""
    found: Counter[str] = Counter()
    for endpoint in filter(_is_ready, _endpoints(endpoint_slice)):
        zones = [zone["name"] for zone in (endpoint.get("hints") or {}).get("forZones") or ()]
        if not zones or any(zone not in allotments for zone in zones):
            return False
        found.update(zones)
    if any(used[zone] + number > allotments[zone].maximum for zone, number in found.items()):
        return False
    used.update(found)
    return True


def _in_own_zone(endpoint: Object, used: Counter[str]) -> Object:
    if not _is_ready(endpoint):
        return endpoint
    if not endpoint.get("zone"):
        raise Unfair("One or more endpoints do not have a zone specified")
    used[endpoint["zone"]] += 1
    return {**endpoint, "hints": {"forZones": [{"name": endpoint["zone"]}]}}


def _givers_and_takers(allotments: Mapping[str, _Allotment], used: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints zones give away and get. A transfer is worth it where it brings one of the two much nearer."""
    difference = {zone: used[zone] - allotment.desired for zone, allotment in allotments.items()}
    surplus = {zone: number for zone, number in difference.items() if number > 0}
    lack = {zone: -number for zone, number in difference.items() if number < 0}
    gives: Counter[str] = Counter()
    takes: Counter[str] = Counter()
    while surplus and lack:
        giver, taker = max(surplus, key=surplus.__getitem__), max(lack, key=lack.__getitem__)
        if min(surplus[giver], lack[taker]) < 0.5 or max(surplus[giver], lack[taker]) < 1.0:
            break
        for zone, numbers, told in ((giver, surplus, gives), (taker, lack, takes)):
            numbers[zone] -= 1
            told[zone] += 1
    return gives, takes


def _even_out(endpoints: Sequence[list[Object]], gives: Counter[str], takes: Counter[str]) -> None:
    """Turn the hints of so many endpoints of the giving zones to the taking ones."""
    for of_slice in endpoints:
        for i, endpoint in enumerate(of_slice):
            taker = next(iter(+takes), None)
            if taker is None:
                return
            if _is_ready(endpoint) and gives[endpoint["zone"]] > 0:
                of_slice[i] = {**endpoint, "hints": {"forZones": [{"name": taker}]}}
                gives[endpoint["zone"]] -= 1
                takes[taker] -= 1


def _millicores(node: ReadOnlyObject) -> int:
    text = ((node.get("status") or {}).get("allocatable") or {}).get("cpu")
    return quantity.milli_value(text) if text is not None else 0


def _endpoints_of_all(slices: Iterable[ReadOnlyObject]) -> Iterable[Mapping[str, Any]]:
    for endpoint_slice in slices:
        yield from _endpoints(endpoint_slice)


def _endpoints(endpoint_slice: ReadOnlyObject) -> Sequence[Object]:
    return endpoint_slice.get("endpoints") or ()


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    return bool((endpoint.get("conditions") or {}).get("ready"))
