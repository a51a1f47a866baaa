"""Budgets in a living cluster."""

from typing import Any

import pytest

from controllers import deployment, disruption, replicaset
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import TooManyRequests
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, POD_DISRUPTION_BUDGETS, PODS
from kubeloop.testing.builders import a_deployment, a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {
    "disruption": a_loop(disruption.add_to),
    "deployment": a_loop(deployment.add_to),
    "replicaset": a_loop(replicaset.add_replica_sets),
    "nodes": a_loop(nodes.add_to),
}
ONLY_DISRUPTION = {"disruption": LOOPS["disruption"]}


def a_budget(**spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


async def until_status(cluster: Cluster, within_seconds: float = 60, **wanted: Any) -> Object:
    async def has_come() -> Object | None:
        status = (await cluster.read(a_budget(), POD_DISRUPTION_BUDGETS)).get("status") or {}
        return status if wanted.items() <= status.items() else None

    found = await cluster.eventually(has_come, within_seconds)
    assert found is not None
    return found


async def evict(cluster: Cluster, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    await cluster.api.create(PODS, eviction, "default", name=name, subresource="eviction")


async def ready(cluster: Cluster, name: str, **fields: Any) -> Object:
    pod = await cluster.create(a_pod(name).labels(app="web").spec(**fields))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await cluster.api.patch(PODS, name, {"status": status}, "default", subresource="status")
    return pod


def test_a_deployment_keeps_what_its_budget_wants() -> None:
    """The scale is the Deployment's; an eviction is granted once and the next refused until a new pod is ready."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_budget(maxUnavailable="25%"), POD_DISRUPTION_BUDGETS)
        await cluster.create(a_deployment("web").replicas(4))
        await until_status(cluster, expectedPods=4, currentHealthy=4, desiredHealthy=3, disruptionsAllowed=1)
        names = [pod["metadata"]["name"] for pod in await cluster.list(PODS, "default")]

        await evict(cluster, names[0])
        with pytest.raises(TooManyRequests):
            await evict(cluster, names[1])

        await until_status(cluster, currentHealthy=4, disruptionsAllowed=1)

    run_cluster(check, processes=LOOPS)


def test_an_eviction_that_does_not_come_is_forgotten() -> None:
    """After two minutes the pod counts as healthy again, and an event says that it was to go."""

    async def check(cluster: Cluster) -> None:
        await ready(cluster, "stays")
        await cluster.create(a_budget(minAvailable=0), POD_DISRUPTION_BUDGETS)
        status = await until_status(cluster, currentHealthy=1)
        evicted_at = get_condition(status["conditions"], "DisruptionAllowed")
        assert evicted_at is not None
        marked = {"status": {"disruptedPods": {"stays": evicted_at["lastTransitionTime"]}}}
        await cluster.api.patch(POD_DISRUPTION_BUDGETS, "budget", marked, "default", subresource="status")
        await until_status(cluster, currentHealthy=0)

        status = await until_status(cluster, within_seconds=130, currentHealthy=1)

        assert "disruptedPods" not in status
        await cluster.settled()
        assert "NotDeleted" in [event["reason"] for event in await cluster.list(EVENTS, "default")]

    run_cluster(check, processes=ONLY_DISRUPTION)


def test_a_mark_without_a_deletion_is_taken_back() -> None:
    """A DisruptionTarget condition that nothing followed becomes False after two minutes."""

    async def check(cluster: Cluster) -> Object:
        await cluster.add_node(a_node("n"))
        pod = await ready(cluster, "marked", nodeName="n")
        now = pod["metadata"]["creationTimestamp"]
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        patch = {"status": {"conditions": [{**mark, "lastTransitionTime": now}]}}
        await cluster.api.patch(PODS, "marked", patch, "default", subresource="status")

        async def is_unmarked() -> Object | None:
            condition = get_condition(conditions_of(await cluster.read(pod)), "DisruptionTarget")
            return dict(condition) if condition and condition["status"] == "False" else None

        return await cluster.eventually(is_unmarked, within_seconds=125) or {}

    condition = run_cluster(check, processes=ONLY_DISRUPTION)

    assert "reason" not in condition


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (
            {"apiVersion": "batch/v1", "kind": "Job"},
            "jobs.batch does not implement the scale subresource",
        ),
        (
            {"apiVersion": "example.com/v1", "kind": "Widget"},
            'no matches for kind "Widget" in version "example.com/v1"',
        ),
        ({"apiVersion": "apps/v1", "kind": "ReplicaSet"}, 'found no controllers for pod "web"'),
    ],
)
def test_an_owner_without_a_scale_stops_everything(owner: Object, why: str) -> None:
    """A percentage of an unknown number: nothing may go, and the condition says why."""

    async def check(cluster: Cluster) -> str:
        pod = a_pod("web").labels(app="web").owned_by({**owner, "metadata": {"name": "x", "uid": "u"}})
        await cluster.create(pod)
        await cluster.create(a_budget(minAvailable="50%"), POD_DISRUPTION_BUDGETS)

        async def message() -> str:
            conditions = conditions_of(await cluster.read(a_budget(), POD_DISRUPTION_BUDGETS))
            return str(conditions[0]["message"]) if conditions else ""

        return await cluster.eventually(message)

    assert why == run_cluster(check, processes=ONLY_DISRUPTION)
