"""ReplicaSets and ReplicationControllers in a living cluster."""

from typing import Any

import pytest

from controllers import replicaset
from kubeloop.apimachinery.meta import Object, controller_of, name_of
from kubeloop.apimachinery.resource import EVENTS, NAMESPACES, PODS, REPLICATION_CONTROLLERS
from kubeloop.testing.builders import a_namespace, a_pod, a_replica_set
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {"replicaset": a_loop(replicaset.add_replica_sets), "nodes": a_loop(nodes.add_to)}
CONTROLLERS = {"replicationcontroller": a_loop(replicaset.add_replication_controllers), "nodes": LOOPS["nodes"]}


async def has_available(cluster: Cluster, owner: Object, count: int) -> Object:
    async def found() -> Object | None:
        live = await cluster.read(owner)
        return live if (live["status"].get("availableReplicas") or 0) == count else None

    await cluster.eventually(found)
    await cluster.settled()
    return await cluster.read(owner)


def scaled(replicas: int) -> Object:
    return {"spec": {"replicas": replicas}}


def test_orphans_are_adopted_and_strangers_let_go() -> None:
    """A matching orphan counts as a replica; a pod that is relabelled is released and replaced."""

    async def check(cluster: Cluster) -> dict[str, str | None]:
        await cluster.create(a_pod("orphan").labels(app="web"))
        await cluster.create(a_pod("stranger").labels(app="db"))
        web = await cluster.create(a_replica_set("web").replicas(2))
        await has_available(cluster, web, 2)
        await cluster.patch(await cluster.api.get(PODS, "orphan", "default"), {"metadata": {"labels": {"app": "x"}}})
        await has_available(cluster, web, 2)
        owners = {name_of(pod): controller_of(pod) for pod in await cluster.list(PODS)}
        return {name: owner["name"] if owner else None for name, owner in owners.items()}

    owners = run_cluster(check, processes=LOOPS)

    assert (None, None) == (owners.pop("orphan"), owners.pop("stranger"))
    assert ["web", "web"] == list(owners.values())


def test_a_refused_creation_is_not_tried_a_hundred_times() -> None:
    """Of a hundred missing pods each try asks for one; condition and event say why; it goes once pods come."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        await cluster.create(a_namespace("bare"))
        web = await cluster.create(a_replica_set("web").namespace("bare").replicas(100))

        async def failed() -> list[Object]:
            return (await cluster.read(web))["status"].get("conditions") or []

        (condition,) = await cluster.eventually(failed)
        asked = [
            w for w in cluster.writes if w.method == "POST" and w.target.startswith("/api/v1/namespaces/bare/pods")
        ]
        told = {event["reason"] for event in await cluster.list(EVENTS, "bare")}
        await cluster.add_service_account("bare")
        after = await has_available(cluster, web, 100)
        return len(asked), condition["reason"], condition["message"], told, after["status"].get("conditions")

    asked, reason, message, told, after = run_cluster(check, processes=LOOPS)

    assert (True, "FailedCreate", {"FailedCreate"}, None) == (asked <= 2, reason, told, after), asked
    assert message.startswith('pods "web-" is forbidden: error looking up service account bare/default')


def test_scaling_down_counts_pods_on_their_way_out() -> None:
    """Terminating pods are counted apart and not replaced, however often the status changes meanwhile."""

    async def check(cluster: Cluster) -> tuple[Object, Object, int]:
        web = await cluster.create(a_replica_set("web").replicas(3))
        await has_available(cluster, web, 3)
        await cluster.stop("nodes")
        for pod in await cluster.list(PODS):
            await cluster.patch(pod, {"metadata": {"finalizers": ["example.com/hold"]}})
        await cluster.patch(web, scaled(1))
        await cluster.settled()
        held = (await cluster.read(web))["status"]
        for pod in await cluster.list(PODS):
            await cluster.patch(pod, {"metadata": {"finalizers": None}})
        await cluster.settled()
        return held, (await cluster.read(web))["status"], len(await cluster.list(PODS))

    held, after, pods = run_cluster(check, processes=LOOPS)

    assert (1, 2) == (held["replicas"], held["terminatingReplicas"])
    assert (1, 0, 1) == (after["replicas"], after["terminatingReplicas"], pods)


def test_availability_comes_with_time() -> None:
    """Ten seconds after the pods became ready, without any event to tell of it, they count as available."""

    async def check(cluster: Cluster) -> tuple[Object, float]:
        web = await cluster.create(a_replica_set("web").replicas(2).spec(minReadySeconds=10))
        await cluster.settled(quiet_seconds=2)
        early = (await cluster.read(web))["status"]
        began = cluster.clock.monotonic()

        async def is_available() -> bool:
            return (await cluster.read(web))["status"].get("availableReplicas") == 2

        await cluster.eventually(is_available)
        return early, cluster.clock.monotonic() - began

    early, seconds = run_cluster(check, processes=LOOPS)

    assert (2, None, True) == (early["readyReplicas"], early.get("availableReplicas"), seconds <= 9), seconds


@pytest.mark.parametrize("replicas", [0, 1, 510])
def test_any_size_is_reached(replicas: int) -> None:
    """More than the 500 of one burst take a second reconcile, and scaling to nothing as many."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        web = await cluster.create(a_replica_set("web").replicas(replicas))
        await has_available(cluster, web, replicas)
        created = len(await cluster.list(PODS))
        await cluster.patch(web, scaled(0))
        await has_available(cluster, web, 0)
        return created, len(await cluster.list(PODS))

    assert (replicas, 0) == run_cluster(check, processes=LOOPS)


def test_a_replication_controller_is_the_same_loop() -> None:
    """With a plain selector, its own kind as owner, and no count of terminating pods."""

    async def check(cluster: Cluster) -> tuple[Object, Any]:
        spec = a_replica_set("web").replicas(2)["spec"]
        rc = {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {**spec, "selector": {"app": "web"}},
        }
        created = await cluster.create(rc, REPLICATION_CONTROLLERS)
        found = await has_available(cluster, created, 2)
        owners = {(controller_of(pod) or {}).get("kind") for pod in await cluster.list(PODS)}
        return found["status"], owners

    status, owners = run_cluster(check, processes=CONTROLLERS)

    expected = dict.fromkeys(("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"), 2)
    assert ({**expected, "observedGeneration": 1}, {"ReplicationController"}) == (status, owners)


def test_pods_of_a_terminating_namespace_are_no_failure() -> None:
    """Creations that must fail are neither told nor tried for ever."""

    async def check(cluster: Cluster) -> tuple[Any, int]:
        await cluster.create(a_namespace("going"))
        await cluster.add_service_account("going")
        web = await cluster.create(a_replica_set("web").namespace("going").replicas(1))
        await has_available(cluster, web, 1)
        await cluster.api.delete(NAMESPACES, "going")
        (pod,) = await cluster.list(PODS, "going")
        await cluster.delete(pod)
        await cluster.settled()
        return (await cluster.read(web))["status"].get("conditions"), len(await cluster.list(PODS, "going"))

    assert (None, 0) == run_cluster(check, processes=LOOPS)


def test_news_of_many_pods_are_gathered() -> None:
    """A set of three hundred that become ready one after the other writes its status for bundles of them."""

    async def check(cluster: Cluster) -> int:
        web = await cluster.create(a_replica_set("web").replicas(300))

        async def all_made() -> bool:
            return (await cluster.read(web))["status"].get("replicas") == 300

        await cluster.eventually(all_made)
        await cluster.settled()
        before = len(cluster.writes)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for pod in await cluster.list(PODS):
            await cluster.api.patch(
                PODS, name_of(pod), {"status": {"conditions": [ready]}}, "default", subresource="status"
            )
            await cluster.clock.sleep(0.001)
        await has_available(cluster, web, 300)
        return len([write for write in cluster.writes[before:] if write.target.endswith("/replicasets/web/status")])

    written = run_cluster(check, processes={"replicaset": LOOPS["replicaset"]})

    assert 1 <= written <= 300 / 10
