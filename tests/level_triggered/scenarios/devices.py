"""Devices: claimed by pods, given to one claim at a time, and given back."""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.faults import StaleLists
from kubeloop.testing.scenario import Live, Scenario
from tests.level_triggered.loops import processes, the_scheduler
from tests.level_triggered.scenarios.living import until_bound
from tests.level_triggered.waiting import until_gone
from tests.unit.controllers.device_taint_eviction.test_loop import FOR_EVER, SLICE, a_user, taint
from tests.unit.scheduler.devices import a_claim, a_class, a_device, a_slice

CLAIMS = "resourceclaims.resource.k8s.io"
DEVICES = 4


async def one_pod_too_many(cluster: Cluster) -> None:
    """Four devices on two nodes, and five pods with a claim each; those that are deleted make room."""
    for name in ("a", "b"):
        await cluster.add_node(a_node(name))
        devices = [a_device(f"d{i}") for i in range(DEVICES // 2)]
        await cluster.create(a_slice(name, *devices), RESOURCE_SLICES)
    await cluster.create(a_class(), DEVICE_CLASSES)
    for i in range(DEVICES):
        await create_user(cluster, f"p{i}")
    await until_bound(cluster, DEVICES)
    await create_user(cluster, "waits")
    await cluster.clock.sleep(30)
    for i, name in enumerate(("p0", "p1")):
        gone = await cluster.delete(a_pod(name), grace_period_seconds=0)
        await until_gone(cluster, gone)
        await cluster.api.delete(RESOURCE_CLAIMS, name, "default")
        await until_bound(cluster, DEVICES - i)
    await create_user(cluster, "late")
    await until_bound(cluster, DEVICES)


async def create_user(cluster: Cluster, name: str) -> None:
    claim = a_claim(name)
    await cluster.create({**claim, "metadata": {"name": name, "namespace": "default"}, "status": {}}, RESOURCE_CLAIMS)
    claims = [{"name": "device", "resourceClaimName": name}]
    await cluster.create(a_pod(name).spec(resourceClaims=claims), PODS)


def no_device_twice(live: Live, _: object) -> str:
    """Whatever the scheduler knows: two claims never have the same device."""
    users: dict[tuple[str, str], list[str]] = {}
    for key, obj in live.items():
        allocation = (obj.get("status") or {}).get("allocation") if key.resource == CLAIMS else None
        for result in ((allocation or {}).get("devices") or {}).get("results") or ():
            users.setdefault((result["pool"], result["device"]), []).append(key.name)
    twice = {device: names for device, names in users.items() if len(names) > 1}
    return f"devices that more than one claim has: {twice}" if twice else ""


def without_places(resource: str, obj: Object) -> Object | None:
    """Which of the equal devices a claim has is chance, and with it the pod's node."""
    name, status = obj["metadata"]["name"], obj.get("status") or {}
    if resource == CLAIMS:
        allocation, users = status.get("allocation") or {}, status.get("reservedFor") or ()
        given = len(allocation.get("devices", {}).get("results", ()))
        finalizers = obj["metadata"].get("finalizers", [])
        return {"metadata": {"name": name, "finalizers": finalizers}, "devices": given, "users": len(users)}
    if resource == "pods":
        return {"metadata": {"name": name}, "spec": {"isPlaced": bool(obj["spec"].get("nodeName"))}}
    return obj


async def driven_out(cluster: Cluster) -> None:
    """Who does not tolerate a taint of its device goes, who does for a time goes later, and others stay."""
    await cluster.add_node(a_node("n"))
    await cluster.create(SLICE, RESOURCE_SLICES)
    for name, seconds in (("plain", 0), ("brief", 60), ("patient", 360_000)):
        await a_user(cluster, name, "bad", {**FOR_EVER, "tolerationSeconds": seconds}, stays=False)
    await a_user(cluster, "always", "bad", FOR_EVER, stays=False)
    await a_user(cluster, "elsewhere", "good", stays=False)
    await taint(cluster, "bad", "NoExecute")
    for name in ("plain", "brief"):
        await until_gone(cluster, a_pod(name))
    await taint(cluster, "bad")
    await cluster.clock.sleep(60)
    await a_user(cluster, "late", "bad", stays=False)
    await cluster.clock.sleep(60)


SCENARIOS = (
    # Who began with a list of the past would give a device away that it does not know to be taken, as upstream's does.
    Scenario(
        "scheduler-devices",
        {"scheduler": the_scheduler(), **processes("resourceclaim-controller", "pods")},
        one_pod_too_many,
        reduce=without_places,
        laws=(no_device_twice,),
        spared=(StaleLists,),
    ),
    Scenario("device-taint-eviction-controller", processes("device-taint-eviction-controller", "pods"), driven_out),
)
