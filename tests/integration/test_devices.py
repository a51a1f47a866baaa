"""Pods with claims for devices, from the slices of a driver to containers that run, on virtual time."""

from __future__ import annotations

from functools import partial
from typing import Any

from controllers import catalog
from controllers.scheduler import loop as scheduler
from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.meta import Object, finalizers_of, name_of, uid_of
from kubeloop.apimachinery.resource import (
    DEVICE_CLASSES,
    EVENTS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import PodBuilder, a_deployment, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.scheduler.devices import DRIVER, a_claim, a_class, a_device, a_slice, allocated, exactly


def all_loops(manager: Manager) -> None:
    catalog.add_to(manager, catalog.LOOPS, catalog.Settings())


PROCESSES = {
    "loops": a_loop(all_loops),
    "scheduler": a_loop(scheduler.add_to),
    "nodes": a_loop(partial(simulator.add_to, settings=Settings(nodes=2))),
}
MODEL = f'device.attributes["{DRIVER}"].model == "a100"'


async def set_up(cluster: Cluster, *slices: Object) -> None:
    for one in slices or (
        a_slice("node-0", a_gpu("g0"), a_gpu("g1")),
        a_slice("node-1", a_gpu("g0"), a_gpu("g1", "t4")),
    ):
        await cluster.create(one, RESOURCE_SLICES)
    await cluster.create(a_class("gpu", MODEL), DEVICE_CLASSES)


def a_gpu(name: str, model: str = "a100", **fields: Any) -> Object:
    return a_device(name, attributes={"model": model}, **fields)


def a_user(name: str, claim: str) -> PodBuilder:
    return a_pod(name).spec(resourceClaims=[{"name": "gpu", "resourceClaimName": claim}])


def created(claim: Object) -> Object:
    metadata = {name: claim["metadata"][name] for name in ("name", "namespace")}
    return {**claim, "metadata": metadata, "status": {}}


async def devices_in_use(cluster: Cluster) -> list[tuple[str, str]]:
    """Pool and device of every claim."""
    found = []
    for claim in await cluster.list(RESOURCE_CLAIMS):
        allocation = (claim.get("status") or {}).get("allocation") or {"devices": {"results": []}}
        found += [(one["pool"], one["device"]) for one in allocation["devices"]["results"]]
    return sorted(found)


async def running(cluster: Cluster, count: int) -> list[Object]:
    async def run() -> list[Object] | None:
        pods = await cluster.list(PODS, "default")
        found = [
            pod
            for pod in pods
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        ]
        return found if len(found) == count else None

    pods: list[Object] = await cluster.eventually(run)
    return pods


def test_as_many_pods_run_as_there_are_devices() -> None:
    """Each has one of its own; the next runs when one is given back."""

    async def check(cluster: Cluster) -> None:
        await set_up(cluster)
        spec = {"spec": {"devices": {"requests": [exactly()]}}}
        template = {"metadata": {"name": "gpu", "namespace": "default"}, "spec": spec}
        await cluster.create(template, RESOURCE_CLAIM_TEMPLATES)
        web = a_deployment("web").replicas(4)
        web["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
        await cluster.create(web)
        first = await running(cluster, 3)
        await cluster.settled()

        assert [("node-0", "g0"), ("node-0", "g1"), ("node-1", "g0")] == await devices_in_use(cluster)
        (waiting,) = [pod for pod in await cluster.list(PODS, "default") if pod["status"]["phase"] == "Pending"]
        (told,) = [one for one in waiting["status"]["conditions"] if one["type"] == "PodScheduled"]
        assert told["message"].startswith(
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable,"
        )

        await cluster.delete(first[0])

        async def waiting_runs() -> bool:
            return (await cluster.read(waiting))["status"].get("phase") == "Running"

        await cluster.eventually(waiting_runs)
        await cluster.settled()
        assert [("node-0", "g0"), ("node-0", "g1"), ("node-1", "g0")] == await devices_in_use(cluster)

    run_cluster(check, seed=1, processes=PROCESSES)


def test_a_claim_is_kept_for_its_users_and_freed_after_them() -> None:
    """Two pods share a claim and thereby a node; when both are gone its device is free, and it can be deleted."""

    async def check(cluster: Cluster) -> None:
        await set_up(cluster)
        claim = await cluster.create(created(a_claim("shared")), RESOURCE_CLAIMS)
        one = await cluster.create(a_user("one", "shared"))
        await running(cluster, 1)
        two = await cluster.create(a_user("two", "shared"))
        pods = await running(cluster, 2)

        found = await cluster.read(claim, RESOURCE_CLAIMS)
        assert 1 == len({pod["spec"]["nodeName"] for pod in pods})
        assert {uid_of(one), uid_of(two)} == {user["uid"] for user in found["status"]["reservedFor"]}
        assert ["resource.kubernetes.io/delete-protection"] == finalizers_of(found)
        assert found["status"]["allocation"]["allocationTimestamp"]

        for pod in (one, two):
            await cluster.delete(pod)
        await cluster.settled()
        assert [] == await devices_in_use(cluster)
        await cluster.delete(claim, RESOURCE_CLAIMS)
        await cluster.settled()
        assert [] == await cluster.list(RESOURCE_CLAIMS)

    run_cluster(check, seed=2, processes=PROCESSES)


def test_a_claim_that_keeps_its_pod_from_every_node_is_allocated_anew() -> None:
    """Its devices are where the pod cannot go, and nobody uses them: they are given back, and others taken."""

    async def check(cluster: Cluster) -> None:
        await set_up(cluster)
        claim = await cluster.create(created(a_claim("c")), RESOURCE_CLAIMS)
        elsewhere = allocated({**claim, "status": {}}, "g0", pool="node-9", node="node-9")
        await cluster.api.update(RESOURCE_CLAIMS, elsewhere, subresource="status")
        await cluster.create(a_user("p", "c"))

        await running(cluster, 1)
        assert [("node-0", "g0")] == await devices_in_use(cluster) or [("node-1", "g0")] == await devices_in_use(
            cluster
        )

    run_cluster(check, seed=3, processes=PROCESSES)


def test_a_kubelet_starts_only_pods_that_may_use_their_claims() -> None:
    """One that came to its node without the scheduler waits until its claim is reserved for it."""

    async def check(cluster: Cluster) -> None:
        await set_up(cluster)
        claim = await cluster.create(created(a_claim("c")), RESOURCE_CLAIMS)
        pod = await cluster.create(a_user("p", "c").on("node-0"))
        await cluster.clock.sleep(60)

        why = f"pod p ({uid_of(pod)}) is not allowed to use ResourceClaim c ({uid_of(claim)})"
        assert "Pending" == (await cluster.read(pod))["status"]["phase"]
        told = [one for one in await cluster.list(EVENTS) if one["reason"] == "FailedPrepareDynamicResources"]
        assert [f"Failed to prepare dynamic resources: prepare dynamic resources: {why}"] == [
            one["message"] for one in told
        ]

        elsewhere = allocated({**claim, "status": {}}, "g0", pool="node-0", node="node-0")
        await cluster.api.update(RESOURCE_CLAIMS, elsewhere, subresource="status")
        await running(cluster, 1)

    run_cluster(check, seed=4, processes=PROCESSES)


def test_a_pod_is_bound_when_its_devices_are_ready() -> None:
    """Their driver says so in the claim; until then the pod waits, and one whose device failed is tried again."""

    async def check(cluster: Cluster) -> None:
        conditions = {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
        await set_up(cluster, a_slice("node-0", a_gpu("slow", **conditions)))
        claim = await cluster.create(created(a_claim("c")), RESOURCE_CLAIMS)
        pod = await cluster.create(a_user("p", "c"))

        async def is_allocated() -> Object | None:
            found = await cluster.read(claim, RESOURCE_CLAIMS)
            return found if (found.get("status") or {}).get("allocation") else None

        found = await cluster.eventually(is_allocated)
        await cluster.clock.sleep(60)
        assert "nodeName" not in (await cluster.read(pod))["spec"]
        note = "waiting for binding conditions for device on node node-0"
        assert note in [one["message"] for one in await cluster.list(EVENTS) if name_of(one).startswith("p.")]

        ready = {"type": "attached", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": NOW}
        device = {"driver": DRIVER, "pool": "node-0", "device": "slow", "conditions": [ready]}
        status = {**found["status"], "devices": [device]}
        await cluster.api.update(RESOURCE_CLAIMS, {**found, "status": status}, subresource="status")
        await running(cluster, 1)

    run_cluster(check, seed=5, processes=PROCESSES)


NOW = "2026-01-01T00:00:00Z"
