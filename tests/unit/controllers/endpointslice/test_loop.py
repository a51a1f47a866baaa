"""EndpointSlices and Endpoints in a living cluster."""

import random
from collections import Counter
from typing import Any

from controllers import endpoints, endpointslice, endpointslice_mirroring, replicaset
from controllers.services import membership
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.testing.builders import a_node, a_pod, a_replica_set, a_service
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from kubeloop.testing.virtual_time import LoopClock
from tests.unit.controllers import nodes

LOOPS = {
    "replicaset": a_loop(replicaset.add_replica_sets),
    "endpointslice": a_loop(endpointslice.add_to),
    "endpoints": a_loop(endpoints.add_to),
    "mirroring": a_loop(endpointslice_mirroring.add_to),
    "nodes": a_loop(nodes.add_to),
}


def on_a_node(replicas: int) -> Object:
    replica_set = a_replica_set("web").replicas(replicas)
    replica_set["spec"]["template"]["spec"]["nodeName"] = "node-0"
    return replica_set


async def of_web(cluster: Cluster) -> list[Object]:
    return await cluster.list(ENDPOINT_SLICES, "default", "kubernetes.io/service-name=web")


def published(slices: list[Object]) -> Counter[str]:
    return Counter(address for each in slices for end in each["endpoints"] or [] for address in end["addresses"])


def test_every_ready_pod_is_published_once() -> None:
    """250 pods are in three slices, none of them twice, and in the Endpoints."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        await cluster.create(on_a_node(250))
        await cluster.settled()
        slices = await of_web(cluster)
        listed = (await cluster.api.get(ENDPOINTS, "web", "default"))["subsets"][0]["addresses"]
        counted = published(slices)
        return len(slices), len(counted), set(counted.values()), len(listed)

    assert (3, 250, {1}, 250) == run_cluster(check, processes=LOOPS)


def test_a_service_without_pods_has_an_empty_slice() -> None:
    """And it goes back to it when the pods go."""

    async def check(cluster: Cluster) -> list[Any]:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        web = await cluster.create(on_a_node(1))
        await cluster.settled()
        await cluster.patch(web, {"spec": {"replicas": 0}})
        await cluster.settled()
        return [(each["endpoints"] or [], each.get("ports") or []) for each in await of_web(cluster)]

    assert [([], [])] == run_cluster(check, processes=LOOPS)


def test_a_pod_is_published_when_its_node_shows_up() -> None:
    """Until then it is left out of slices, and a warning says so."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        await cluster.create(a_service("web"))
        await cluster.create(a_pod("p").labels(app="web").on("late"))
        await cluster.settled()
        before = len(published(await of_web(cluster)))
        await cluster.create(a_node("late"), NODES)
        await cluster.clock.sleep(300)
        return before, len(published(await of_web(cluster)))

    assert (0, 1) == run_cluster(check, processes=LOOPS)


def test_slices_deleted_by_hand_come_back() -> None:
    """Whoever deletes or edits them, they are put right."""

    async def check(cluster: Cluster) -> tuple[list[str], Counter[str]]:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        await cluster.create(on_a_node(2))
        await cluster.settled()
        (before,) = await of_web(cluster)
        await cluster.patch(before, {"endpoints": []}, ENDPOINT_SLICES)
        await cluster.settled()
        edited = published(await of_web(cluster))
        await cluster.delete(before)
        await cluster.settled()
        (after,) = await of_web(cluster)
        return [name_of(before), name_of(after)], published([after]) - edited

    (before, after), missing = run_cluster(check, processes=LOOPS)

    assert (True, Counter()) == (before != after, missing)


def test_a_slice_given_to_another_service_is_replaced() -> None:
    """The Service that lost it does not wait for it for ever; what the other makes of it is its own affair."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        await cluster.create(on_a_node(2))
        await cluster.settled()
        (before,) = await of_web(cluster)
        await cluster.patch(before, {"metadata": {"labels": {"kubernetes.io/service-name": "other"}}})
        await cluster.settled()
        (after,) = await of_web(cluster)
        return [name_of(before), name_of(after), *published([after])]

    before, after, *addresses = run_cluster(check, processes=LOOPS)

    assert (True, 2) == (before != after, len(addresses))


def test_only_what_is_published_of_a_pod_counts() -> None:
    """A label that makes it no other Service's pod is none of the Service's business; one that does is."""
    services = Informer(Api("http://x"), Scope(SERVICES), LoopClock(), random.Random(1))
    membership.index_services(services)
    for service in (a_service("web"), a_service("api")):
        services.store.put(service)

    def is_seen(**labels: str) -> bool:
        pod = a_pod("p").labels(app="web")
        return membership.concerns_services(services)(pod, pod.copy().labels(**labels))

    assert [False, False, True, True] == [is_seen(), is_seen(zone="a"), is_seen(app="api"), is_seen(app="none")]


def test_endpoints_written_by_hand_are_mirrored() -> None:
    """For a Service without selector, following changes, until the Service selects pods itself."""

    async def check(cluster: Cluster) -> list[Any]:
        service = await cluster.create(a_service("web").spec(selector=None))
        subsets = [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]
        by_hand = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "default"}}
        created = await cluster.create({**by_hand, "subsets": subsets}, ENDPOINTS)
        await cluster.settled()
        first = published(await of_web(cluster))
        await cluster.patch(created, {"subsets": [{**subsets[0], "addresses": [{"ip": "10.1.1.9"}]}]}, ENDPOINTS)
        await cluster.settled()
        second = published(await of_web(cluster))
        await cluster.patch(service, {"spec": {"selector": {"app": "web"}}}, SERVICES)
        await cluster.settled()
        return [list(first), list(second), list(published(await of_web(cluster)))]

    assert [["10.1.1.1"], ["10.1.1.9"], []] == run_cluster(check, processes=LOOPS)


def test_a_restart_changes_nothing() -> None:
    """What is published is right as it is; only the time of the change that led to it is not known any more."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        await cluster.create(on_a_node(3))
        await cluster.settled()
        assert 3 == len(await cluster.list(PODS))
        before = len(cluster.writes)
        for name in ("endpointslice", "endpoints", "mirroring"):
            await cluster.stop(name)
            cluster.start(name)
        await cluster.settled()
        return [write.target for write in cluster.writes[before:]]

    assert [] == run_cluster(check, processes=LOOPS)
