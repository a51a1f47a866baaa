"""Nodes that come, fall silent, return and go, and what becomes of their pods."""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import NODES, PODS
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone
from tests.unit.controllers.heartbeats import heartbeats_of

SILENT, LIVELY = "silent", ("a", "b", "c")


def a_tainted(*keys: str) -> Object:
    return {"spec": {"taints": [{"key": key, "effect": "NoExecute"} for key in keys] or None}}


async def blocks_for_all(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        await cluster.create(a_node(name))

    async def have_blocks() -> bool:
        return all(node["spec"].get("podCIDR") for node in await cluster.list(NODES))

    await until(cluster, have_blocks)
    await cluster.api.delete(NODES, "b")
    for name in ("d", "e"):
        await cluster.create(a_node(name))
    await until(cluster, have_blocks)


async def silence_and_return(cluster: Cluster) -> None:
    for name in LIVELY:
        await cluster.create(a_node(name))
    await cluster.create(a_node(SILENT))
    await cluster.create(a_pod("p").on(SILENT))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await cluster.api.patch(PODS, "p", {"status": status}, "default", subresource="status")

    async def is_unreachable() -> bool:
        taints = (await cluster.api.get(NODES, SILENT))["spec"].get("taints") or []
        return {"node.kubernetes.io/unreachable"} == {taint["key"] for taint in taints} and len(taints) == 2

    await until(cluster, is_unreachable)

    async def is_free() -> bool:
        await report(cluster, SILENT, "True")
        return not (await cluster.api.get(NODES, SILENT))["spec"].get("taints")

    await until(cluster, is_free)
    await until(cluster, is_unreachable)
    await report(cluster, "a", "False")
    await cluster.api.delete(NODES, "b")


async def report(cluster: Cluster, node: str, is_ready: str) -> None:
    """As its kubelet would."""
    now = format_time(cluster.clock.now())
    conditions = [{"type": "Ready", "status": is_ready, "lastHeartbeatTime": now}]
    await cluster.api.patch(NODES, node, {"status": {"conditions": conditions}}, subresource="status")


async def driven_out(cluster: Cluster) -> None:
    await cluster.add_node(a_node("n"))
    await cluster.create(a_pod("plain").on("n"))
    brief = a_pod("brief").on("n").spec(tolerations=[toleration("a", 60)])
    spared = a_pod("spared").on("n").spec(tolerations=[toleration("a", 3600)])
    for pod in (brief, spared, a_pod("always").on("n").tolerates("a", "NoExecute")):
        await cluster.create(pod)
    await cluster.api.patch(NODES, "n", a_tainted("a"))
    for name in ("plain", "brief"):
        await until_gone(cluster, a_pod(name))
    await cluster.api.patch(NODES, "n", a_tainted())
    await cluster.clock.sleep(60)
    await cluster.create(a_pod("late").on("n"))
    await cluster.clock.sleep(7200)


def toleration(key: str, seconds: int) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


async def many_nodes(cluster: Cluster) -> None:
    for i in range(105):
        await cluster.create(a_node(f"n{i}"))
    await cluster.clock.sleep(30)
    for i in range(30):
        await cluster.api.delete(NODES, f"n{i}")
    await cluster.api.patch(NODES, "n50", {"metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "7"}}})
    # A node learns of another step with its next heartbeat, and not before the loop has counted all nodes.
    await cluster.clock.sleep(120)
    for i in range(30, 105):
        await cluster.api.patch(NODES, f"n{i}", {"metadata": {"annotations": {"beat": "1"}}})


async def nobodys_pods(cluster: Cluster) -> None:
    await cluster.add_node(a_node("stays"))
    gone = await cluster.add_node(a_node("goes"))
    for name, node in (("orphan", "goes"), ("fine", "stays")):
        await cluster.create(a_pod(name).on(node))
    held = await cluster.create(a_pod("held").on("goes").finalizers("example.com/hold"))
    await cluster.delete(gone)
    await until_gone(cluster, a_pod("orphan"))
    await cluster.patch(held, {"metadata": {"finalizers": None}})
    await until_gone(cluster, held)
    unbound = await cluster.create(a_pod("unbound").finalizers("example.com/hold"))
    await cluster.delete(unbound)
    await cluster.patch(unbound, {"metadata": {"finalizers": None}})
    await until_gone(cluster, unbound)


SCENARIOS = (
    Scenario("node-ipam-controller", processes("node-ipam-controller"), blocks_for_all),
    Scenario(
        "node-lifecycle-controller",
        {**processes("node-lifecycle-controller"), "kubelets": heartbeats_of(*LIVELY)},
        silence_and_return,
    ),
    Scenario("taint-eviction-controller", processes("taint-eviction-controller", "pods"), driven_out),
    Scenario("ttl-controller", processes("ttl-controller"), many_nodes),
    Scenario("pod-garbage-collector-controller", processes("pod-garbage-collector-controller"), nobodys_pods),
)
