"""Claims, classes and slices of devices, as tests want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.meta import Object

DRIVER = "gpu.example.com"


def a_device(name: str, memory: str = "", **fields: Any) -> Object:
    """`attributes` are given as plain values; `fields` are those of the API."""
    attributes = {key: _typed(value) for key, value in fields.pop("attributes", {}).items()}
    device: Object = {"name": name, "attributes": attributes, **fields}
    if memory:
        device["capacity"] = {"memory": {"value": memory}, **fields.get("capacity", {})}
    return device


def a_slice(node: str, *devices: Object, pool: str = "", name: str = "", **spec: Any) -> Object:
    """All of the pool of a node, unless `spec` says something else; without a node for all of them."""
    where = {"nodeName": node} if node else {"allNodes": True}
    if {"nodeSelector", "perDeviceNodeSelection"} & spec.keys():
        where = {}
    told = {"name": pool or node or "everywhere", "generation": 1, "resourceSliceCount": 1, **spec.pop("of", {})}
    contents: dict[str, Any] = {} if "sharedCounters" in spec else {"devices": list(devices)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"slice-{told['name']}"},
        "spec": {"driver": DRIVER, "pool": told, **where, **contents, **spec},
    }


def a_class(name: str = "gpu", *selectors: str, **spec: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": _selectors(selectors), **spec},
    }


def exactly(name: str = "r", device_class: str = "gpu", *selectors: str, count: int = 1, **fields: Any) -> Object:
    asked = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count, **fields}
    if asked["allocationMode"] == "All":
        del asked["count"]
    return {"name": name, "exactly": {**asked, "selectors": _selectors(selectors)}}


def every(name: str = "r", device_class: str = "gpu", *selectors: str, **fields: Any) -> Object:
    return exactly(name, device_class, *selectors, allocationMode="All", **fields)


def first_available(name: str, *alternatives: Object) -> Object:
    """Of what `exactly` makes: each by its own name."""
    return {"name": name, "firstAvailable": [{"name": one["name"], **one["exactly"]} for one in alternatives]}


def a_claim(name: str = "c", *requests: Object, status: Mapping[str, Any] | None = None, **devices: Any) -> Object:
    """Of one device of class gpu, where no requests are given."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-claim-{name}", "resourceVersion": "1"},
        "spec": {"devices": {"requests": list(requests) or [exactly()], **devices}},
        "status": dict(status or {}),
    }


def allocated(claim: Object, *devices: str, pool: str = "a", node: str = "", users: Sequence[Object] = ()) -> Object:
    """The claim with these devices."""
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": device} for device in devices]
    allocation: Object = {"devices": {"results": results}}
    if node:
        named = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    return {**claim, "status": {**claim["status"], "allocation": allocation, "reservedFor": list(users)}}


def _selectors(expressions: Sequence[str]) -> list[Object]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def _typed(value: Any) -> Object:
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}
