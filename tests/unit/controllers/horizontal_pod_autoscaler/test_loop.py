"""Autoscalers in a living cluster, with and without somebody who serves metrics."""

from typing import Any

import pytest

from controllers import deployment, horizontal_pod_autoscaler, replicaset
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object, labels_of, name_of
from kubeloop.apimachinery.resource import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    PODS,
    Resource,
)
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.builders import a_deployment
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes
from tests.unit.controllers.autoscalers import an_autoscaler

ONLY_AUTOSCALER = {"autoscaler": a_loop(horizontal_pod_autoscaler.add_to)}
LOOPS = {
    **ONLY_AUTOSCALER,
    "deployment": a_loop(deployment.add_to),
    "replicaset": a_loop(replicaset.add_replica_sets),
    "nodes": a_loop(nodes.add_to),
}

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
MEMORY = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}}
NOT_SERVED = "the server could not find the requested resource"


async def serve_pod_metrics(cluster: Cluster) -> None:
    """As a custom kind: what is created is what is measured."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "metrics.k8s.io",
            "names": {"plural": "pods", "kind": "PodMetrics"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    await cluster.create(definition, CUSTOM_RESOURCE_DEFINITIONS)

    async def is_served() -> bool:
        conditions = conditions_of(await cluster.read(definition, CUSTOM_RESOURCE_DEFINITIONS))
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    await cluster.eventually(is_served)


async def measure(cluster: Cluster, memory: str) -> None:
    """Every pod there is uses so much."""
    known = {name_of(one) for one in await cluster.list(POD_METRICS, "default")}
    for pod in await cluster.list(PODS, "default"):
        said = {
            "apiVersion": POD_METRICS.api_version,
            "kind": POD_METRICS.kind,
            "metadata": {"name": name_of(pod), "namespace": "default", "labels": dict(labels_of(pod))},
            "timestamp": format_time(cluster.clock.now()),
            "window": "15s",
            "containers": [{"name": "web", "usage": {"memory": memory}}],
        }
        if name_of(pod) in known:
            await cluster.patch(said, said, POD_METRICS)
        else:
            await cluster.create(said, POD_METRICS)


async def until_replicas(cluster: Cluster, replicas: int, within_seconds: float = 40) -> None:
    async def are_there() -> bool:
        status = (await cluster.read(a_deployment("web"), DEPLOYMENTS)).get("status") or {}
        return status.get("readyReplicas") == replicas == status.get("replicas")

    await cluster.eventually(are_there, within_seconds)


async def status_of(cluster: Cluster, name: str = "hpa") -> Object:
    return (await cluster.read(an_autoscaler(name), HORIZONTAL_POD_AUTOSCALERS))["status"]


async def create_autoscaler(cluster: Cluster, name: str = "hpa", **spec: Any) -> None:
    await cluster.create(an_autoscaler(name, **spec), HORIZONTAL_POD_AUTOSCALERS)


def reasons(status: Object) -> list[tuple[str, str, str]]:
    return [(one["type"], one["status"], one["reason"]) for one in status["conditions"]]


def test_pods_follow_the_load() -> None:
    """Up at the next look, down only when five minutes have passed; the status and events say why."""

    async def check(cluster: Cluster) -> tuple[Object, Object, set[tuple[str, str]]]:
        await serve_pod_metrics(cluster)
        await cluster.create(a_deployment("web").replicas(2))
        await until_replicas(cluster, 2)
        await measure(cluster, "200Mi")
        await create_autoscaler(cluster, metrics=[{"type": "Resource", "resource": MEMORY}])

        await until_replicas(cluster, 4)
        await measure(cluster, "10Mi")
        await cluster.clock.sleep(280)
        before = await status_of(cluster)
        await until_replicas(cluster, 1, within_seconds=60)
        await cluster.clock.sleep(20)
        events = await cluster.list(EVENTS, "default")
        told = {(one["reason"], one["message"]) for one in events if one["source"]["component"].startswith("hor")}
        return before, await status_of(cluster), told

    before, after, told = run_cluster(check, processes=LOOPS)

    assert (4, 4) == (before["currentReplicas"], before["desiredReplicas"])
    average = {"name": "memory", "current": {"averageValue": "10Mi"}}
    assert [{"type": "Resource", "resource": average}] == before["currentMetrics"]
    assert [
        ("AbleToScale", "True", "ScaleDownStabilized"),
        ("ScalingActive", "True", "ValidMetricFound"),
        ("ScalingLimited", "False", "DesiredWithinRange"),
    ] == reasons(before)
    assert (1, 1) == (after["currentReplicas"], after["desiredReplicas"])
    assert {
        ("SuccessfulRescale", "New size: 4; reason: memory resource above target"),
        ("SuccessfulRescale", "New size: 1; reason: All metrics below target"),
    } == told


@pytest.mark.parametrize(
    ("metric", "reason", "why"),
    [
        (
            {"type": "Resource", "resource": MEMORY},
            "FailedGetResourceMetric",
            "failed to get memory usage: unable to get metrics for resource memory: unable to fetch metrics from"
            f" resource metrics API: {NOT_SERVED} (get pods.metrics.k8s.io)",
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "web",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            },
            "FailedGetContainerResourceMetric",
            "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from"
            f" resource metrics API: {NOT_SERVED} (get pods.metrics.k8s.io)",
        ),
        (
            {
                "type": "Pods",
                "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}},
            },
            "FailedGetPodsMetric",
            "unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API"
            " (custom.metrics.k8s.io) registered",
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "hits"},
                    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
                    "target": {"type": "Value", "value": "1"},
                },
            },
            "FailedGetObjectMetric",
            "unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API"
            " (custom.metrics.k8s.io) registered on Service default/web",
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "Value", "value": "1"},
                },
            },
            "FailedGetExternalMetric",
            "unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]string{a: b,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API:"
            f" {NOT_SERVED} (get queue.external.metrics.k8s.io)",
        ),
    ],
)
def test_metrics_that_nobody_serves(metric: Object, reason: str, why: str) -> None:
    """The condition says which, in the words of a real cluster; the target stays as it is."""

    async def check(cluster: Cluster) -> Object:
        await cluster.create(a_deployment("web").replicas(2))
        await until_replicas(cluster, 2)
        await create_autoscaler(cluster, metrics=[metric])
        await cluster.clock.sleep(20)
        return await status_of(cluster)

    status = run_cluster(check, processes=LOOPS)

    assert (2, 0) == (status["currentReplicas"], status["desiredReplicas"])
    assert ("ScalingActive", "False", reason) == reasons(status)[1]
    assert f"the HPA was unable to compute the replica count: {why}" == status["conditions"][1]["message"]


def test_two_autoscalers_over_the_same_pods() -> None:
    """Both stop, and each names both; when one is gone the other goes on."""

    async def check(cluster: Cluster) -> tuple[list[str], tuple[str, str, str]]:
        await cluster.create(a_deployment("web").replicas(2))
        await until_replicas(cluster, 2)
        await create_autoscaler(cluster, "one")
        await create_autoscaler(cluster, "two")
        await cluster.clock.sleep(40)
        messages = [(await status_of(cluster, name))["conditions"][1]["message"] for name in ("one", "two")]
        await cluster.delete(an_autoscaler("one"), HORIZONTAL_POD_AUTOSCALERS)
        await cluster.clock.sleep(40)
        return messages, reasons(await status_of(cluster, "two"))[1]

    messages, after = run_cluster(check, processes=LOOPS)

    both = "pods by selector app=web are controlled by multiple HPAs: [default/one default/two]"
    assert [both, both] == messages
    assert ("ScalingActive", "False", "FailedGetResourceMetric") == after


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}, 'deployments.apps "gone" not found'),
        ({"apiVersion": "apps/v1", "kind": "Gizmo", "name": "x"}, 'no matches for kind "Gizmo" in group "apps"'),
        ({"apiVersion": "a.io/v1", "kind": "Gizmo", "name": "x"}, 'no matches for kind "Gizmo" in group "a.io"'),
        ({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x"}, NOT_SERVED),
    ],
)
def test_nothing_to_scale(target: Object, why: str) -> None:
    """AbleToScale says what is wrong with the reference."""

    async def check(cluster: Cluster) -> Object:
        await create_autoscaler(cluster, scaleTargetRef=target)
        await cluster.clock.sleep(20)
        return await status_of(cluster)

    (condition,) = run_cluster(check, processes=ONLY_AUTOSCALER)["conditions"]

    assert ("False", "FailedGetScale") == (condition["status"], condition["reason"])
    assert f"the HPA controller was unable to get the target's current scale: {why}" == condition["message"]


def test_a_quiet_autoscaler_writes_nothing() -> None:
    """Looking again and finding the same is no write; a target that is switched on again is brought to the limits."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        web = await cluster.create(a_deployment("web").replicas(0))
        await create_autoscaler(cluster, minReplicas=3)
        await cluster.clock.sleep(120)
        quiet = len([one for one in cluster.writes if one.process == "autoscaler"])
        await cluster.patch(web, {"spec": {"replicas": 1}})
        await cluster.clock.sleep(20)
        return quiet, (await cluster.read(web))["spec"]["replicas"]

    assert (1, 3) == run_cluster(check, processes=ONLY_AUTOSCALER)
