"""Autoscalers and a metrics adapter of somebody else's, behind APIServices."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson

from controllers import deployment, horizontal_pod_autoscaler, replicaset
from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import API_SERVICES, DEPLOYMENTS, EVENTS, HORIZONTAL_POD_AUTOSCALERS, SERVICES
from kubeloop.testing.builders import a_deployment
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
NAMESPACE = "namespaces/default"

OBJECT = {
    "metric": {"name": "hits"},
    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
    "target": {"type": "Value", "value": "10"},
}
METRICS = [
    {"type": "Object", "object": OBJECT},
    {
        "type": "External",
        "external": {
            "metric": {"name": "queue", "selector": {"matchLabels": {"of": "web"}}},
            "target": {"type": "AverageValue", "averageValue": "10"},
        },
    },
    {
        "type": "Pods",
        "pods": {"metric": {"name": "lag"}, "target": {"type": "AverageValue", "averageValue": "1"}},
    },
]


class Adapter:
    """Serves what it was told; of the pods' metric it knows nothing."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.asked: list[str] = []

    def transport(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append(request.url.raw_path.decode())
        if len(path.strip("/").split("/")) == 3:
            group_version = path.removeprefix("/apis/")
            return _response(200, {"kind": "APIResourceList", "groupVersion": group_version, "resources": []})
        for name, value in self.values.items():
            if path.endswith(name):
                item = {"value": value, "timestamp": "2026-01-01T00:00:00Z", "metric": {"name": name}}
                return _response(200, {"kind": "MetricValueList", "items": [item]})
        return _response(404, {"kind": "Status", "message": "no such metric", "reason": "NotFound", "code": 404})


def _response(code: int, answer: Object) -> httpx.Response:
    async def body() -> AsyncIterator[bytes]:
        yield orjson.dumps(answer)

    return httpx.Response(code, headers={"content-type": "application/json"}, content=body())


async def add_adapter(cluster: Cluster) -> None:
    service = {
        "metadata": {
            "name": "adapter",
            "namespace": "default",
            "annotations": {"kubeloop.io/forward-to": "http://127.0.0.1:1"},
        },
        "spec": {"ports": [{"port": 443}]},
    }
    await cluster.create(service, SERVICES)
    for group, version in ((CUSTOM, "v1beta2"), (EXTERNAL, "v1beta1")):
        spec = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": "default", "name": "adapter"},
        }
        await cluster.create({"metadata": {"name": f"{version}.{group}"}, "spec": spec}, API_SERVICES)

    async def are_available() -> bool:
        listed = [one for one in await cluster.list(API_SERVICES) if "service" in one["spec"]]
        return all(is_true(conditions_of(one), "Available") for one in listed)

    await cluster.eventually(are_available)


async def replicas(cluster: Cluster) -> int:
    return int((await cluster.api.get(DEPLOYMENTS, "web", "default"))["spec"]["replicas"])


async def status(cluster: Cluster) -> Object:
    found: Object = (await cluster.api.get(HORIZONTAL_POD_AUTOSCALERS, "web", "default"))["status"]
    return found


def active(found: Object) -> Any:
    condition = get_condition(found["conditions"], "ScalingActive") or {}
    return condition["status"], condition["reason"], condition["message"]


def test_custom_and_external_metrics_come_from_an_adapter() -> None:
    """The highest count wins though one metric is unknown; but as long as it is, nothing is scaled down."""

    async def check(cluster: Cluster) -> None:
        await add_adapter(cluster)
        await cluster.create(a_deployment("web").replicas(2))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": METRICS}
        autoscaler = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        await cluster.create(autoscaler, HORIZONTAL_POD_AUTOSCALERS)
        await cluster.eventually(lambda: is_at(cluster, 4))
        adapter.values["hits"] = "10"  # each has half of it now
        await cluster.clock.sleep(20)
        found = await status(cluster)
        assert [one["type"] for one in found["currentMetrics"]] == ["Object", "External", ""]
        assert found["currentMetrics"][1]["external"]["current"] == {"averageValue": "7500m"}
        assert active(found)[:2] == ("True", "ValidMetricFound")
        path = f"/apis/{CUSTOM}/v1beta2/{NAMESPACE}/services/web/hits"
        assert any(asked.startswith(path) for asked in adapter.asked)
        assert any(f"{NAMESPACE}/queue?labelSelector=of%3Dweb" in asked for asked in adapter.asked)
        adapter.values |= {"hits": "1", "queue": "1"}
        await cluster.clock.sleep(400)
        assert await replicas(cluster) == 4
        why = "unable to get metric lag: unable to fetch metrics from custom metrics API: no such metric"
        told = f"the HPA was unable to compute the replica count: {why}"
        assert active(await status(cluster)) == ("False", "FailedGetPodsMetric", told)
        events = {event["message"] for event in await cluster.list(EVENTS, "default")}
        summary = f"invalid metrics (1 invalid out of 3), first error is: failed to get pods metric value: {why}"
        assert {"New size: 4; reason: Service metric hits above target", why, summary} <= events

    async def is_at(cluster: Cluster, wanted: int) -> bool:
        return await replicas(cluster) == wanted

    adapter = Adapter()
    adapter.values = {"hits": "20", "queue": "30"}
    processes = {
        "autoscaler": a_loop(horizontal_pod_autoscaler.add_to),
        "deployment": a_loop(deployment.add_to),
        "replicaset": a_loop(replicaset.add_replica_sets),
        "nodes": a_loop(nodes.add_to),
    }
    run_cluster(check, processes=processes, webhook_transports=adapter.transport)
