"""The Endpoints object a Service should have. Pure.

pkg/controller/endpoint, v1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controllers import pods
from controllers.services import membership, subsets, trigger_times
from controllers.services.membership import HEADLESS
from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, labels_of, name_of, namespace_of

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MANAGER = "endpoint-controller"
MAX_ADDRESSES = 1000


def desired_subsets(service: ReadOnlyObject, its_pods: Iterable[ReadOnlyObject]) -> list[Object]:
    spec = service["spec"]
    publishes_all = bool(spec.get("publishNotReadyAddresses"))
    found: list[Object] = []
    for pod in its_pods:
        address = _address(service, pod) if membership.may_be_listed(pod, include_terminating=publishes_all) else None
        if address is None:
            continue
        is_ready = publishes_all or pods.is_ready(pod)
        found += [subsets.subset(address, port, is_ready) for port in _ports(spec, pod)]
    return subsets.repack(found)


def planned(
    service: ReadOnlyObject, present: ReadOnlyObject | None, wanted: Sequence[Object], time: str
) -> Object | None:
    """The object to write; None where the present one says it all."""
    if present is not None and _is_right(service, present, wanted):
        return None
    truncated, was_too_many = truncate(wanted)
    annotations = trigger_times.annotate(annotations_of(present) if present else {}, time)
    annotations.pop(OVER_CAPACITY, None)
    if was_too_many:
        annotations[OVER_CAPACITY] = "truncated"
    described = {
        **(present["metadata"] if present else {"name": name_of(service), "namespace": namespace_of(service)}),
        "labels": _labels(service),
        "annotations": annotations,
    }
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": described, "subsets": truncated}


def truncate(wanted: Sequence[Object], most: int = MAX_ADDRESSES) -> tuple[list[Object], bool]:
    """At most 1000 addresses, ready ones first, every subset losing its share; and whether any were lost."""
    ready = sum(len(subset.get("addresses") or ()) for subset in wanted)
    not_ready = sum(len(subset.get("notReadyAddresses") or ()) for subset in wanted)
    if ready + not_ready <= most:
        return list(wanted), False
    field, count, room = ("addresses", ready, most) if ready > most else ("notReadyAddresses", not_ready, most - ready)
    left, cut = room, []
    for subset in wanted:
        kept = {k: v for k, v in subset.items() if k != "notReadyAddresses" or field == k}
        addresses = subset.get(field) or []
        share = min(math.ceil(len(addresses) / count * room), left)
        left -= min(share, len(addresses))
        cut.append({**kept, field: addresses[:share]})
    return cut, True


def _is_right(service: ReadOnlyObject, present: ReadOnlyObject, wanted: Sequence[Object]) -> bool:
    stored = list(present.get("subsets") or [])
    return (
        (stored == list(wanted) or subsets.repack(stored) == list(wanted))
        and _own(labels_of(present)) == _own(labels_of(service))
        and labels_of(present).get(MANAGED_BY) == MANAGER
        and OVER_CAPACITY not in annotations_of(present)
    )


def _own(labels: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in labels.items() if k not in (HEADLESS, MANAGED_BY)}


def _labels(service: ReadOnlyObject) -> dict[str, str]:
    labels = {k: v for k, v in labels_of(service).items() if k != HEADLESS}
    if membership.is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, MANAGED_BY: MANAGER}


def _ports(spec: Mapping[str, Any], pod: ReadOnlyObject) -> list[Object | None]:
    """The ports at which a pod serves; a headless Service without ports lists its pods all the same."""
    if not spec.get("ports"):
        return [None] if spec.get("clusterIP") == "None" else []
    ports: list[Object | None] = []
    for service_port in spec["ports"]:
        number = membership.target_port(pod, service_port)
        if number is None:
            continue
        fields = {
            "name": service_port.get("name"),
            "port": number,
            "protocol": service_port.get("protocol") or "TCP",
            "appProtocol": service_port.get("appProtocol"),
        }
        ports.append({field: value for field, value in fields.items() if value is not None})
    return ports


def _address(service: ReadOnlyObject, pod: ReadOnlyObject) -> Object | None:
    """The pod's address of the Service's first family; None where it has none."""
    of_family = membership.addresses(pod, _family(service["spec"], pod))
    if not of_family:
        return None
    address = {
        "ip": of_family[0],
        "hostname": membership.hostname(pod, service),
        "nodeName": pods.node_of(pod),
        "targetRef": membership.target(pod),
    }
    return {field: value for field, value in address.items() if value}


def _family(spec: Mapping[str, Any], pod: ReadOnlyObject) -> str:
    families = spec.get("ipFamilies")
    if families:
        return str(families[0])
    text = spec.get("clusterIP")
    address = parse_ip(text if text and text != "None" else (pod.get("status") or {}).get("podIP") or "")
    return "IPv6" if address is not None and address.version == 6 else "IPv4"
