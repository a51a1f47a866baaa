"""What endpoints say of when the change happened that they follow from."""

from __future__ import annotations

import pytest

from controllers import endpoints, endpointslice
from controllers.services.trigger_times import ANNOTATION, TriggerTimes
from kubeloop.apimachinery.meta import Object, annotations_of, key_of
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, ENDPOINTS, PODS, Resource
from kubeloop.testing.builders import a_node, a_pod, a_service
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from kubeloop.testing.faults.answers import RaceWrites

CREATED, READY, READY_AGAIN = "2026-01-01T00:00:00Z", "2026-01-01T00:00:40Z", "2026-01-01T00:00:50Z"


def created() -> Object:
    service = a_service("web")
    service["metadata"] |= {"namespace": "default", "creationTimestamp": CREATED}
    return service


def ready_since(time: str) -> Object:
    """The status of a pod."""
    return {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]}


def a_pod_ready_since(time: str) -> Object:
    return {**a_pod("p"), "status": ready_since(time)}


def test_a_time_is_owed_until_it_is_told() -> None:
    """The earliest one that is new: a write that failed does not lose it."""
    times, service = TriggerTimes(), created()
    key = key_of(service)

    first = [times.next(service, []), times.next(service, [])]
    times.told(key)
    nothing_new = times.next(service, [])
    second = [times.next(service, [a_pod_ready_since(READY)]), times.next(service, [a_pod_ready_since(READY_AGAIN)])]
    times.told(key)

    assert [CREATED, CREATED] == first
    assert "" == nothing_new
    assert [READY, READY] == second
    assert "" == times.next(service, [a_pod_ready_since(READY_AGAIN)])


@pytest.mark.parametrize("resource", [ENDPOINTS, ENDPOINT_SLICES], ids=lambda resource: resource.kind)
def test_a_conflict_loses_no_time(resource: Resource) -> None:
    """Whoever else wrote in between, the next try tells the same time."""

    async def add_ready_pod(cluster: Cluster) -> None:
        await cluster.create(a_pod("p").labels(app="web").on("node-0"))
        status = {"phase": "Running", "podIP": "10.244.0.7", "podIPs": [{"ip": "10.244.0.7"}]} | ready_since(READY)
        await cluster.api.patch(PODS, "p", {"status": status}, "default", subresource="status")

    async def check(cluster: Cluster) -> str | None:
        await cluster.create(a_node("node-0"))
        await cluster.create(a_service("web"))
        await cluster.clock.sleep(40)
        await add_ready_pod(cluster)
        await cluster.clock.sleep(2)
        cluster.end_faults()
        await cluster.settled()
        (found,) = await cluster.list(resource, "default")
        return annotations_of(found).get(ANNOTATION)

    loops = {"endpoints": a_loop(endpoints.add_to), "slices": a_loop(endpointslice.add_to)}
    faults = {name: (RaceWrites(1.0),) for name in loops}
    assert READY == run_cluster(check, processes=loops, faults=faults, latency_seconds=0.1)
