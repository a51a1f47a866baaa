"""NodeMetrics and PodMetrics, their lists and their tables, as metrics-server answers with them. Pure.

Facts: pkg/api/{node,pod,table}.go and pkg/storage of metrics-server v0.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from kubelet_sim.metrics.readings import NodeReading, PodReading, Usage
from kubeloop.apimachinery.go_duration import duration_text
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of, metadata
from kubeloop.apimachinery.quantity import BINARY_SI, NANO, Quantity, of_value, parse
from kubeloop.apimachinery.times import format_time

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"
_RESOURCES = ("cpu", "memory")
_PAGE_BYTES = 4096


def node_metrics(node: ReadOnlyObject, reading: NodeReading, now: datetime) -> Object:
    return {
        "kind": "NodeMetrics",
        "apiVersion": API_VERSION,
        "metadata": _metadata(node, now),
        "timestamp": format_time(reading.taken_at),
        "window": duration_text(reading.window_seconds),
        "usage": _usage(reading.usage),
    }


def pod_metrics(pod: ReadOnlyObject, reading: PodReading, now: datetime) -> Object:
    return {
        "kind": "PodMetrics",
        "apiVersion": API_VERSION,
        "metadata": _metadata(pod, now),
        "timestamp": format_time(reading.taken_at),
        "window": duration_text(reading.window_seconds),
        "containers": [{"name": name, "usage": _usage(used)} for name, used in reading.containers.items()],
    }


def list_of(kind: str, items: Sequence[Object]) -> Object:
    """Items of a list carry neither kind nor apiVersion."""
    bare = [{name: value for name, value in item.items() if name not in ("kind", "apiVersion")} for item in items]
    return {"kind": f"{kind}List", "apiVersion": API_VERSION, "metadata": {}, "items": bare}


def table(items: Sequence[Object], version: str, include_object: str) -> Object:
    """`version` of meta.k8s.io; `include_object`: None, Object or, as by default, Metadata."""
    columns = [{"name": "Name", "type": "string", "format": "name", "description": "Name of the resource"}]
    columns += [{"name": name, "type": "string", "format": "quantity", "description": ""} for name in _RESOURCES]
    columns.append({"name": "Window", "type": "string", "format": "duration", "description": ""})
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        "columnDefinitions": [{**column, "priority": 0} for column in columns] if items else None,
        "rows": [_row(item, version, include_object) for item in items] or None,
    }


def _row(item: Object, version: str, include_object: str) -> Object:
    used = [item["usage"]] if "usage" in item else [container["usage"] for container in item["containers"]]
    sums = [str(sum((parse(one[resource]) for one in used[1:]), parse(used[0][resource]))) for resource in _RESOURCES]
    row: Object = {"cells": [item["metadata"]["name"], *sums, item["window"]]}
    if include_object == "Object":
        row["object"] = item
    elif include_object != "None":
        kind = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}"}
        row["object"] = {**kind, "metadata": item["metadata"]}
    return row


def _metadata(obj: ReadOnlyObject, now: datetime) -> Object:
    """Those of the node or pod; made just now, for all anybody knows."""
    known = metadata(obj)
    found: Object = {"name": known["name"]}
    if known.get("namespace"):
        found["namespace"] = known["namespace"]
    found["creationTimestamp"] = format_time(now)
    if labels_of(obj):
        found["labels"] = dict(labels_of(obj))
    return found


def _usage(used: Usage) -> Mapping[str, str]:
    """CPU to the billionth of a core, memory in whole pages."""
    cpu = Quantity(int(used["cpu"] * 1e9), NANO)
    memory = of_value(int(used["memory"]) // _PAGE_BYTES * _PAGE_BYTES, BINARY_SI)
    return {"cpu": str(cpu), "memory": str(memory)}
