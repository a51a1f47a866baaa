"""Services whose pods come, go and change, and Endpoints that somebody writes by hand."""

from __future__ import annotations

from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import ENDPOINTS, PODS, SERVICE_CIDRS, SERVICES
from kubeloop.testing.builders import a_pod, a_service
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone, until_pods

TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def by_hand(name: str, *addresses: str) -> Object:
    subsets = [{"addresses": [{"ip": address} for address in addresses], "ports": [{"port": 80}]}]
    metadata = {"name": name, "namespace": "default", "labels": {"made": "by-hand"}}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}


def without_trigger_time(_: str, obj: Object) -> Object:
    """Endpoints tell when the change that they follow was made: as far as the loop of this life has seen it."""
    metadata = obj["metadata"]
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != TRIGGER_TIME}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


async def selected(cluster: Cluster) -> None:
    await cluster.create(a_service("web"))
    for name in ("one", "two", "three"):
        await cluster.create(a_pod(name).labels(app="web"))
    await until_pods(cluster, 3)
    await cluster.create(a_service("doomed"))
    await cluster.clock.sleep(5)
    await cluster.delete(a_service("doomed"))

    gone = await cluster.api.get(PODS, "one", "default")
    await cluster.delete(gone)
    await until_gone(cluster, gone)
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    await cluster.api.patch(PODS, "two", {"status": unready}, "default", subresource="status")
    await cluster.api.patch(PODS, "three", {"metadata": {"labels": {"app": "other"}}}, "default")
    await cluster.create(a_pod("four").labels(app="web"))
    ports = [{"name": "http", "port": 8080}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    await cluster.api.patch(SERVICES, "web", {"spec": {"ports": ports}}, "default")


async def mirrored(cluster: Cluster) -> None:
    for name in ("kept", "doomed", "claimed"):
        service = a_service(name)
        del service["spec"]["selector"]
        await cluster.create(service)
        await cluster.create(by_hand(name, "192.0.2.1", "192.0.2.2"))
    await cluster.clock.sleep(10)
    subsets = by_hand("", "192.0.2.1", "192.0.2.3", "192.0.2.4")["subsets"]
    await cluster.api.patch(ENDPOINTS, "kept", {"subsets": subsets}, "default")
    await cluster.api.delete(ENDPOINTS, "doomed", "default")
    await cluster.api.patch(SERVICES, "claimed", {"spec": {"selector": {"app": "web"}}}, "default")


def a_range(name: str, cidr: str) -> Object:
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR"}
    return {**kind, "metadata": {"name": name}, "spec": {"cidrs": [cidr]}}


async def ranges_in_use(cluster: Cluster) -> None:
    used, free = a_range("used", "10.100.0.0/24"), a_range("free", "10.101.0.0/24")
    for one in (used, free, a_range("stays", "10.102.0.0/24")):
        await cluster.create(one, SERVICE_CIDRS)
        await until_ready(cluster, one)
    service = a_service("web").spec(clusterIP="10.100.0.7")
    await cluster.create(service)
    await cluster.clock.sleep(120)  # that an address is in use has to be known before its range may go
    for one in (used, free):
        await cluster.delete(one, SERVICE_CIDRS)
    await until_gone(cluster, free, SERVICE_CIDRS)
    await cluster.delete(service)
    await until_gone(cluster, used, SERVICE_CIDRS)


async def until_ready(cluster: Cluster, obj: Object) -> None:
    async def is_ready() -> bool:
        conditions = conditions_of(await cluster.read(obj, SERVICE_CIDRS))
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    await until(cluster, is_ready)


SCENARIOS = (
    Scenario("service-cidr-controller", processes("service-cidr-controller"), ranges_in_use),
    Scenario(
        "endpointslice-controller",
        processes("endpointslice-controller", "pods", "garbage-collector-controller"),
        selected,
        reduce=without_trigger_time,
    ),
    Scenario("endpoints-controller", processes("endpoints-controller", "pods"), selected, reduce=without_trigger_time),
    Scenario(
        "endpointslice-mirroring-controller",
        processes("endpointslice-mirroring-controller", "garbage-collector-controller"),
        mirrored,
        reduce=without_trigger_time,
    ),
)
