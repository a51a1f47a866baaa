"""Load, metrics, autoscaler and pods in one event loop, on virtual time: what a simulated day at work looks like."""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any

import httpx

from controllers import catalog
from controllers.scheduler import loop as scheduler
from kubelet_sim import simulator
from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.metrics.application import Application
from kubelet_sim.metrics.registration import stand_for
from kubelet_sim.metrics.scraper import Scraper
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.resource import API_SERVICES, DEPLOYMENTS, EVENTS, HORIZONTAL_POD_AUTOSCALERS, PODS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_deployment
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from kubeloop.testing.transport import InProcessTransport

METRICS = "/apis/metrics.k8s.io/v1beta1"


class MetricsServer:
    """The process, and the way of the API server to it."""

    def add_to(self, manager: Manager) -> None:
        self.application = Application(Scraper(manager), manager.clock, lambda: manager.is_ready)
        manager.add_task("register", partial(stand_for, manager.api, "http://127.0.0.1:1"))

    def transport(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        return InProcessTransport(lambda *call: self.application(*call))


def played(check: Any) -> None:
    server = MetricsServer()
    processes = {
        "loops": a_loop(lambda manager: catalog.add_to(manager, catalog.LOOPS, catalog.Settings())),
        "scheduler": a_loop(scheduler.add_to),
        "nodes": a_loop(partial(simulator.add_to, settings=Settings(nodes=2, faults=True))),
        "metrics": a_loop(server.add_to),
    }
    run_cluster(check, seed=7, processes=processes, webhook_transports=server.transport)


async def served(cluster: Cluster) -> None:
    """Until the metrics API is there."""

    async def is_available() -> bool:
        try:
            return is_true(conditions_of(await cluster.api.get(API_SERVICES, "v1beta1.metrics.k8s.io")), "Available")
        except NotFound:
            return False

    await cluster.eventually(is_available)


async def a_web(cluster: Cluster, **annotations: str) -> Object:
    """One pod that requests 100m; `annotations` are the Deployment's."""
    said = {f"kubeloop.io/{word.replace('_', '-')}": text for word, text in annotations.items()}
    web = a_deployment("web").replicas(1).requests(cpu="100m", memory="64Mi").annotations(said)
    return await cluster.create(web, DEPLOYMENTS)


async def replicas(cluster: Cluster) -> int:
    web = await cluster.api.get(DEPLOYMENTS, "web", "default")
    return int(web["spec"]["replicas"])


def test_replicas_follow_the_load_up_and_after_a_while_down() -> None:
    """Work that the pods share brings as many as keep each at half of its request; five minutes after it fell they go.

    The load is 300m for five minutes from the third on: at seven pods each has 43m of it and 10m of its own. Idle they
    are at 10 %, for which two would do, and of two one: each step is taken when it was called for during five minutes.
    """

    async def check(cluster: Cluster) -> None:
        await served(cluster)
        await a_web(cluster, cpu_load="0@3m,300m@3m,300m@8m,0@8m")
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": UTILIZATION}}]
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20, "metrics": metrics}
        autoscaler = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        await cluster.create(autoscaler, HORIZONTAL_POD_AUTOSCALERS)
        began = cluster.clock.monotonic()
        await cluster.clock.sleep(170)
        assert await replicas(cluster) == 1
        await cluster.eventually(lambda: is_at(cluster, 7), within_seconds=240)
        await cluster.clock.sleep(480 - (cluster.clock.monotonic() - began))
        assert await replicas(cluster) == 7
        await cluster.clock.sleep(280)
        assert await replicas(cluster) == 7
        await cluster.eventually(lambda: is_at(cluster, 2), within_seconds=120)
        await cluster.eventually(lambda: is_at(cluster, 1), within_seconds=400)
        found = await cluster.api.get(HORIZONTAL_POD_AUTOSCALERS, "web", "default")
        current = {"averageUtilization": 10, "averageValue": "10m"}
        assert found["status"]["currentMetrics"] == [
            {"type": "Resource", "resource": {"name": "cpu", "current": current}}
        ]
        events = await cluster.list(EVENTS, "default")
        told = [event["message"] for event in events if event["reason"] == "SuccessfulRescale"]
        assert told[-1] == "New size: 1; reason: All metrics below target"
        assert "reason: cpu resource utilization (percentage of request) above target" in told[0]

    async def is_at(cluster: Cluster, wanted: int) -> bool:
        return await replicas(cluster) == wanted

    played(check)


UTILIZATION = {"type": "Utilization", "averageUtilization": 50}


def test_metrics_are_served_by_name_and_by_selector() -> None:
    """Through the aggregated API, as kubectl top asks for them."""

    async def check(cluster: Cluster) -> None:
        await served(cluster)
        await a_web(cluster, cpu_load="40m")
        await cluster.clock.sleep(60)
        listed = await cluster.api.request("GET", f"{METRICS}/namespaces/default/pods?labelSelector=app%3Dweb")
        (pod,) = listed["items"]
        assert listed["kind"] == "PodMetricsList"
        assert [one["usage"] for one in pod["containers"]] == [{"cpu": "50m", "memory": "32Mi"}]
        assert (pod["window"], pod["metadata"]["labels"]["app"]) == ("15s", "web")
        assert not (await cluster.api.request("GET", f"{METRICS}/pods?labelSelector=app%3Dother"))["items"]
        one = await cluster.api.request("GET", f"{METRICS}/namespaces/default/pods/{pod['metadata']['name']}")
        assert (one["kind"], one["containers"]) == ("PodMetrics", pod["containers"])
        nodes = (await cluster.api.request("GET", f"{METRICS}/nodes"))["items"]
        assert sorted(node["usage"]["cpu"] for node in nodes) == ["100m", "50m"]

    played(check)


def test_who_is_not_there_or_not_measured_yet_is_not_found() -> None:
    """In the words of metrics-server."""

    async def check(cluster: Cluster) -> None:
        await served(cluster)
        await cluster.clock.sleep(15 - cluster.clock.now().timestamp() % 15)
        await a_web(cluster)
        pods = await cluster.eventually(lambda: cluster.list(PODS, "default"))
        name = pods[0]["metadata"]["name"]
        for path, message in (
            (f"namespaces/default/pods/{name}", f'pods.metrics.k8s.io "default/{name}" not found'),
            ("namespaces/default/pods/none", 'pods "default/none" not found'),
            ("nodes/none", 'node "none" not found'),
        ):
            try:
                await cluster.api.request("GET", f"{METRICS}/{path}")
            except ApiError as error:
                assert (error.code, error.message) == (404, message)
            else:
                raise AssertionError(f"{path} was found")

    played(check)


def test_a_metrics_server_that_stops_takes_its_api_along() -> None:
    """Its Service and its APIService go with it, so that nobody waits for what is not there."""

    async def check(cluster: Cluster) -> None:
        await served(cluster)
        await cluster.stop("metrics")
        names = [one["metadata"]["name"] for one in await cluster.list(API_SERVICES)]
        assert "v1beta1.metrics.k8s.io" not in names

    played(check)


def test_a_leak_by_a_fault_is_seen() -> None:
    """What `kubectl top` shows grows from the fault on, and is as before when it is over."""

    async def check(cluster: Cluster) -> None:
        await served(cluster)
        await a_web(cluster)
        await cluster.eventually(partial(is_measured, cluster))
        before = await memory(cluster)
        fault = {
            "apiVersion": FAULTS.api_version,
            "kind": FAULTS.kind,
            "metadata": {"name": "leak"},
            "spec": {"type": "PodBehaviour", "pods": {}, "behaviour": {"memory-usage": "500Mi"}, "duration": "1m"},
        }
        await cluster.api.create(FAULTS, fault)
        await cluster.clock.sleep(30)

        assert ("32Mi", "500Mi") == (before, await memory(cluster))
        await cluster.clock.sleep(60)
        assert before == await memory(cluster)

    played(check)


async def memory(cluster: Cluster) -> str:
    """Of the only pod."""
    (pod,) = (await cluster.api.request("GET", f"{METRICS}/pods"))["items"]
    (container,) = pod["containers"]
    return _mebibytes(container["usage"]["memory"])


def _mebibytes(text: str) -> str:
    return f"{round(parse(text).value() / 2**20)}Mi"


async def is_measured(cluster: Cluster) -> bool:
    return bool((await cluster.api.request("GET", f"{METRICS}/pods"))["items"])
