"""Evictions from tainted devices, in a living cluster."""

from __future__ import annotations

from typing import Any

from controllers import device_taint_eviction
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, is_being_deleted, name_of, uid_of
from kubeloop.apimachinery.resource import EVENTS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.scheduler.devices import a_claim, a_device, a_slice, allocated

LOOPS = {"eviction": a_loop(device_taint_eviction.add_to)}
SLICE = a_slice("n", a_device("good"), a_device("bad"))
FOR_EVER = {"key": "example.com/broken", "operator": "Exists", "effect": "NoExecute"}


async def a_user(cluster: Cluster, name: str, device: str, *tolerations: Object, stays: bool = True) -> Object:
    """A pod on node n with a claim of its own for the device. `stays`: somebody holds it when it is deleted."""
    user_of = a_pod(name).on("n").spec(resourceClaims=[{"name": "device", "resourceClaimName": name}])
    pod = await cluster.create(user_of.finalizers("example.com/stay") if stays else user_of)
    made = {**a_claim(name), "metadata": {"name": name, "namespace": "default"}, "status": {}}
    claim = await cluster.create(made, RESOURCE_CLAIMS)
    user = {"resource": "pods", "name": name, "uid": uid_of(pod)}
    given = allocated({**claim, "status": {}}, device, pool="n", users=[user])
    given["status"]["allocation"]["devices"]["results"][0]["tolerations"] = list(tolerations)
    await cluster.api.update(RESOURCE_CLAIMS, given, subresource="status")
    return pod


async def taint(cluster: Cluster, device: str, *effects: str, generation: int = 1) -> None:
    taints = [{"key": "example.com/broken", "effect": effect} for effect in effects]
    found = await cluster.api.get(RESOURCE_SLICES, name_of(SLICE))
    devices = [{**one, "taints": taints if one["name"] == device else []} for one in found["spec"]["devices"]]
    pool = {**found["spec"]["pool"], "generation": generation}
    await cluster.api.update(RESOURCE_SLICES, {**found, "spec": {**found["spec"], "devices": devices, "pool": pool}})


async def going(cluster: Cluster) -> set[str]:
    await cluster.clock.sleep(2)
    return {name_of(pod) for pod in await cluster.list(PODS) if is_being_deleted(pod)}


async def told(cluster: Cluster) -> list[tuple[str, str]]:
    events = [one for one in await cluster.list(EVENTS) if one["reason"] == "DeviceTaintManagerEviction"]
    return sorted((one["involvedObject"]["name"], one["message"]) for one in events)


def test_who_does_not_tolerate_goes_at_once() -> None:
    """With a condition and an event that say why; others stay for ever, or for their seconds since the taint came."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        await cluster.create(a_node("n"))
        await cluster.create(SLICE, RESOURCE_SLICES)
        await a_user(cluster, "plain", "bad")
        await a_user(cluster, "elsewhere", "good")
        await a_user(cluster, "patient", "bad", FOR_EVER)
        await a_user(cluster, "brief", "bad", {**FOR_EVER, "tolerationSeconds": 30})
        await a_user(cluster, "vague", "bad", {"key": "example.com/broken", "operator": "Exists"})
        await taint(cluster, "bad", "NoSchedule")
        nobody = await going(cluster)
        await taint(cluster, "bad", "NoExecute")
        at_once = await going(cluster)
        await cluster.clock.sleep(31)
        plain = await cluster.api.get(PODS, "plain", "default")
        condition = get_condition(conditions_of(plain), "DisruptionTarget") or {}
        return {
            "nobody": nobody,
            "at once": at_once,
            "in the end": await going(cluster),
            "why": (condition["reason"], condition["message"]),
            "told": await told(cluster),
        }

    outcome = run_cluster(check, processes=LOOPS)

    assert {
        "nobody": set(),
        "at once": {"plain", "vague"},
        "in the end": {"plain", "vague", "brief"},
        "why": ("DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint"),
        "told": [(name, "Marking for deletion") for name in ("brief", "plain", "vague")],
    } == outcome


def test_a_taint_that_goes_in_time_harms_nobody() -> None:
    """The deletion is called off; taints of older generations do not count."""

    async def check(cluster: Cluster) -> tuple[set[str], list[tuple[str, str]]]:
        await cluster.create(a_node("n"))
        await cluster.create(SLICE, RESOURCE_SLICES)
        await a_user(cluster, "brief", "bad", {**FOR_EVER, "tolerationSeconds": 30})
        await taint(cluster, "bad", "NoExecute")
        await cluster.clock.sleep(10)
        newer = a_slice("n", a_device("bad"), name="newer", of={"generation": 2})
        await cluster.create(newer, RESOURCE_SLICES)
        await cluster.clock.sleep(60)
        return await going(cluster), await told(cluster)

    assert (set(), [("brief", "Cancelling deletion")]) == run_cluster(check, processes=LOOPS)


def test_a_pod_that_comes_to_a_tainted_device_goes() -> None:
    """The claim is heard of after the taint."""

    async def check(cluster: Cluster) -> set[str]:
        await cluster.create(a_node("n"))
        await cluster.create(SLICE, RESOURCE_SLICES)
        await taint(cluster, "bad", "NoExecute")
        await a_user(cluster, "late", "bad")
        return await going(cluster)

    assert {"late"} == run_cluster(check, processes=LOOPS)
