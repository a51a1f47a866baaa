"""What a killed process of the stack left in the cluster."""

from __future__ import annotations

from kubelet_sim.metrics.registration import objects
from kubeloop.apimachinery.resource import API_SERVICES, CLUSTER_ROLES, SERVICES
from kubeloop.cli.leftovers import remove_left_metrics_server
from kubeloop.testing.builders import a_service
from kubeloop.testing.cluster import Cluster, run_cluster


def test_what_a_killed_metrics_server_left_is_removed() -> None:
    """Its APIService, its Service and its role; a Service of somebody else stays, and so do built-in roles."""

    async def check(cluster: Cluster) -> tuple[set[str], set[str]]:
        before = await everything(cluster)
        await cluster.create(a_service("other"))
        for resource, obj in objects("http://127.0.0.1:1"):
            await cluster.api.apply(resource, obj, field_manager="test")
        await remove_left_metrics_server(cluster.api)
        await remove_left_metrics_server(cluster.api)
        return before, await everything(cluster)

    before, after = run_cluster(check)
    assert {"other"} == after - before
    assert before <= after


async def everything(cluster: Cluster) -> set[str]:
    return {
        obj["metadata"]["name"]
        for resource in (API_SERVICES, SERVICES, CLUSTER_ROLES)
        for obj in (await cluster.api.list(resource))["items"]
    }
