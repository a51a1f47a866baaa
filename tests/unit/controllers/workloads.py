"""Builders of the objects that the planners read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seconds_ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def a_template(version: str = "1", **spec: Any) -> Object:
    containers = [{"name": "c", "image": f"example.com/app:{version}"}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}


def a_deployment(replicas: int = 3, version: str = "1", **fields: Any) -> Object:
    """`surge`, `unavailable`: the rolling update's; `strategy`: its type; `annotations`; `status`; the rest is spec."""
    annotations, status = fields.pop("annotations", {}), fields.pop("status", {})
    strategy: Object = {"type": fields.pop("strategy", "RollingUpdate")}
    surge, unavailable = fields.pop("surge", "25%"), fields.pop("unavailable", "25%")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": a_template(version),
        "strategy": strategy,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        **fields,
    }
    metadata = {
        "name": "web",
        "namespace": "default",
        "uid": "deployment",
        "generation": 1,
        "annotations": annotations,
        "resourceVersion": "1",
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def a_replica_set(name: str, replicas: int, version: str = "1", **fields: Any) -> Object:
    """`available` (of as many pods as `replicas`, unless `status` says all), `age` in seconds, `annotations`."""
    available = fields.pop("available", replicas)
    status = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available, "observedGeneration": 1}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "generation": 1,
        "creationTimestamp": seconds_ago(fields.pop("age", 60)),
        "annotations": fields.pop("annotations", {}),
        **fields.pop("metadata", {}),
    }
    template = a_template(version)
    template["metadata"]["labels"]["pod-template-hash"] = name
    spec = {"replicas": replicas, "template": template, **fields.pop("spec", {})}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {**status, "terminatingReplicas": 0, **fields.pop("status", {})},
    }


def a_pod(name: str = "p", **fields: Any) -> Object:
    """`node`, `phase`, `ready` (seconds ago, None for not ready), `ip`, `labels`, `annotations`, `age`, `deleted`."""
    ready = fields.pop("ready", 30)
    condition: Object = {"type": "Ready", "status": "False" if ready is None else "True"}
    if ready is not None:
        condition["lastTransitionTime"] = seconds_ago(ready)
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": fields.pop("uid", name),
        "creationTimestamp": seconds_ago(fields.pop("age", 60)),
        "labels": fields.pop("labels", {"app": "web"}),
        "annotations": fields.pop("annotations", {}),
    }
    if fields.pop("deleted", False):
        metadata["deletionTimestamp"] = seconds_ago(1)
    ip = fields.pop("ip", "10.0.0.1")
    status: Object = {"phase": fields.pop("phase", "Running"), "conditions": [condition], **fields.pop("status", {})}
    if ip:
        status |= {"podIP": ip, "podIPs": [{"ip": ip}]}
    spec = {"nodeName": fields.pop("node", "node-0"), "containers": [{"name": "c"}], **fields.pop("spec", {})}
    assert not fields, f"no such fields: {fields}"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def a_service(**spec: Any) -> Object:
    metadata: Object = {
        "name": "svc",
        "namespace": "default",
        "uid": "service",
        "creationTimestamp": seconds_ago(60),
        "labels": spec.pop("labels", {}),
    }
    usual = {"selector": {"app": "web"}, "ports": [{"port": 80, "protocol": "TCP"}], "clusterIP": "10.96.0.1"}
    return {"metadata": metadata, "spec": {**usual, "ipFamilies": ["IPv4"], **spec}}
