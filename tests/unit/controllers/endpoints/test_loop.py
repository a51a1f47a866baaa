"""Endpoints in a living cluster: whose go with their Service, and whose stay."""

from __future__ import annotations

from controllers import endpoints
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import ENDPOINTS, SERVICES
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"endpoints": a_loop(endpoints.add_to)}


def by_hand(name: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}],
    }


def test_endpoints_without_a_service_are_left_alone() -> None:
    """What somebody wrote without a Service stays; what he wrote for one goes with it."""

    async def scenario(cluster: Cluster) -> None:
        service = {"metadata": {"name": "served", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        await cluster.api.create(SERVICES, service)
        for name in ("served", "alone"):
            await cluster.api.create(ENDPOINTS, by_hand(name))
        await cluster.clock.sleep(5)

        await cluster.api.delete(SERVICES, "served", "default")

        async def is_gone() -> bool:
            try:
                await cluster.api.get(ENDPOINTS, "served", "default")
            except NotFound:
                return True
            return False

        await cluster.eventually(is_gone)
        await cluster.clock.sleep(5)
        left = {name_of(obj) for obj in await cluster.list(ENDPOINTS, "default")}
        assert "alone" in left

    run_cluster(scenario, processes=LOOPS)
