"""How many nodes are played, and by whom."""

from __future__ import annotations

from functools import partial
from typing import Any

from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.forwarding import SIMULATED_OS
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, LEASES, NODES
from kubeloop.testing.builders import a_config_map, a_node, a_pod
from kubeloop.testing.cluster import Cluster, Process, a_loop, run_cluster


def a_kubelet(**settings: Any) -> Process:
    return a_loop(partial(simulator.add_to, settings=Settings(**settings)))


def asking_for(nodes: str) -> Object:
    return a_config_map("kubeloop-nodes", nodes=nodes).namespace("kube-system")


async def names(cluster: Cluster) -> list[str]:
    await cluster.clock.sleep(5)
    return sorted(name_of(node) for node in await cluster.list(NODES))


async def ask(cluster: Cluster, nodes: str) -> None:
    await cluster.api.patch(CONFIG_MAPS, "kubeloop-nodes", {"data": {"nodes": nodes}}, "kube-system")


def test_nodes_come_and_go_as_the_cluster_asks() -> None:
    """More, then fewer, then again more; without the ConfigMap the number of the start counts again."""

    async def check(cluster: Cluster) -> list[list[str]]:
        seen = [await names(cluster)]
        await cluster.create(asking_for("4"))
        seen.append(await names(cluster))
        await ask(cluster, "1")
        seen.append(await names(cluster))
        await ask(cluster, "2")
        seen.append(await names(cluster))
        await cluster.api.delete(CONFIG_MAPS, "kubeloop-nodes", "kube-system")
        seen.append(await names(cluster))
        return seen

    nodes = [f"node-{i}" for i in range(4)]
    expected = [nodes[:2], nodes, nodes[:1], nodes[:2], nodes[:2]]
    assert expected == run_cluster(check, processes={"kubelet": a_kubelet(nodes=2)})


def test_what_was_asked_for_while_nobody_watched_is_done_at_the_start() -> None:
    """Also the nodes of an earlier process are removed; those that somebody else made are left alone."""

    async def check(cluster: Cluster) -> list[str]:
        assert 3 == len(await names(cluster))
        await cluster.stop("kubelet")
        await cluster.create(asking_for("1"))
        await cluster.create(a_node("node-7"))
        cluster.start("kubelet")
        return await names(cluster)

    assert ["node-0", "node-7"] == run_cluster(check, processes={"kubelet": a_kubelet(nodes=3)})


def test_a_node_that_went_has_no_more_heartbeats() -> None:
    """Nothing registers it again either."""

    async def check(cluster: Cluster) -> tuple[list[str], set[str]]:
        await names(cluster)
        await cluster.create(asking_for("1"))
        await names(cluster)
        since = len(cluster.writes)
        await cluster.clock.sleep(120)
        return await names(cluster), {write.target for write in cluster.writes[since:] if "node-1" in write.target}

    assert (["node-0"], set()) == run_cluster(check, processes={"kubelet": a_kubelet(nodes=2)})


def test_a_number_that_is_none_changes_nothing() -> None:
    async def check(cluster: Cluster) -> list[str]:
        await names(cluster)
        await cluster.create(asking_for("many"))
        return await names(cluster)

    assert ["node-0", "node-1"] == run_cluster(check, processes={"kubelet": a_kubelet(nodes=2)})


def test_a_number_that_is_none_at_the_start_leaves_the_one_of_the_start() -> None:
    """Instead of no nodes at all."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.stop("kubelet")
        await cluster.create(asking_for("many"))
        for node in await cluster.list(NODES):
            await cluster.api.delete(NODES, name_of(node))
        cluster.start("kubelet")
        seen = await names(cluster)
        await ask(cluster, "1")
        return [*seen, *await names(cluster)]

    assert ["node-0", "node-1", "node-0"] == run_cluster(check, processes={"kubelet": a_kubelet(nodes=2)})


def test_several_processes_share_the_nodes() -> None:
    """Each node has one of them; scaling adds to each its share, and each removes its own."""

    async def check(cluster: Cluster) -> tuple[list[str], list[str], dict[str, set[str]]]:
        await cluster.create(asking_for("5"))
        grown = await names(cluster)
        await cluster.clock.sleep(30)
        beats: dict[str, set[str]] = {}
        for write in cluster.writes:
            if f"/{LEASES.plural}/" in write.target:
                beats.setdefault(write.target.rpartition("/")[2], set()).add(write.process)
        await ask(cluster, "2")
        return grown, await names(cluster), beats

    shards = {f"kubelet-{i}": a_kubelet(nodes=3, shard=i, shards=2) for i in range(2)}
    grown, shrunk, beats = run_cluster(check, processes=shards)

    assert [f"node-{i}" for i in range(5)] == grown
    assert ["node-0", "node-1"] == shrunk
    assert {f"node-{i}": {f"kubelet-{i % 2}"} for i in range(5)} == beats


def test_a_pod_that_is_there_before_its_node_waits_for_it() -> None:
    """It is not refused for want of room on a node of which nothing is known."""

    async def check(cluster: Cluster) -> str:
        pod = await cluster.create(a_pod("early").on("node-0").spec(automountServiceAccountToken=False))
        await cluster.clock.sleep(10)
        return (await cluster.read(pod))["status"]["phase"]

    assert "Running" == run_cluster(check, processes={"kubelet": a_kubelet(nodes=1)})


def test_a_node_that_shows_only_when_it_is_one_too_many_goes_too() -> None:
    """Its registration was under way while the number fell: nobody knew of it when the others were removed."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(asking_for("1"))
        assert ["node-0"] == await names(cluster)
        late = await cluster.create(a_node("node-3"))
        status = {"status": {"nodeInfo": {"osImage": SIMULATED_OS}}}
        await cluster.api.patch(NODES, name_of(late), status, subresource="status")
        return await names(cluster)

    assert ["node-0"] == run_cluster(check, processes={"kubelet": a_kubelet(nodes=1)})
