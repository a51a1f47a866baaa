"""The scheduler beside a real API server in one event loop, with mutation detectors on."""

from __future__ import annotations

import random

from controllers.scheduler.event_handlers import NOT_ENDED
from controllers.scheduler.loop import add_to
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import name_of
from kubeloop.apimachinery.resource import EVENTS, NODES, PODS, Resource
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)


def scheduler(manager: Manager) -> None:
    add_to(manager)


PROCESSES = {"scheduler": a_loop(scheduler)}


async def a_ready_node(cluster: Cluster, name: str, cpu: str = "4") -> None:
    """Without the taint that new nodes get."""
    node = a_node(name).capacity(cpu=cpu)
    await cluster.create(node)
    await cluster.api.patch(NODES, name, {"status": node["status"]}, subresource="status")
    await cluster.api.patch(NODES, name, {"spec": {"taints": None}})


async def placed(cluster: Cluster) -> dict[str, str]:
    """Where every pod is."""
    return {name_of(pod): pod["spec"].get("nodeName", "") for pod in await cluster.list(PODS, "default")}


def test_pods_find_nodes_and_wait_for_room() -> None:
    """Two of three pods fit; the third says why, and gets the room of the first when that is deleted."""

    async def check(cluster: Cluster) -> tuple[list[str], str | None, list[str], dict[str, str]]:
        await a_ready_node(cluster, "a")
        for name in ("p", "q", "r"):
            await cluster.create(a_pod(name).requests(cpu="2"))
        await cluster.settled()
        before = await placed(cluster)
        waiting = next(name for name, node in before.items() if not node)
        pod = await cluster.read(a_pod(waiting))
        condition = get_condition(conditions_of(pod), "PodScheduled") or {}
        running = next(name for name, node in before.items() if node)
        await cluster.delete(a_pod(running), grace_period_seconds=0)
        await cluster.settled()
        events = [event["reason"] for event in await cluster.list(EVENTS, "default")]
        return sorted(before.values()), condition.get("reason"), sorted(events), await placed(cluster)

    before, reason, events, after = run_cluster(check, processes=PROCESSES)

    assert (["", "a", "a"], "Unschedulable") == (before, reason)
    assert ["FailedScheduling", "Scheduled", "Scheduled", "Scheduled"] == events
    assert ["a", "a"] == list(after.values())


def test_preemption_clears_the_way() -> None:
    """The less important pod goes; the other one runs, without a promise or an excuse left in its status."""

    async def check(cluster: Cluster) -> tuple[dict[str, str], dict[str, object]]:
        await a_ready_node(cluster, "a")
        name = {"metadata": {"name": "vip"}, "value": 1000}
        await cluster.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **name}, PRIORITY_CLASSES)
        await cluster.create(a_pod("low").requests(cpu="3").spec(terminationGracePeriodSeconds=0))
        await cluster.settled()
        await cluster.create(a_pod("vip").requests(cpu="3").spec(priorityClassName="vip"))
        await cluster.settled()
        return await placed(cluster), (await cluster.read(a_pod("vip")))["status"]

    nodes, status = run_cluster(check, processes=PROCESSES)

    assert {"vip": "a"} == nodes
    assert "nominatedNodeName" not in status


def test_a_cordon_counts_at_once() -> None:
    """Also before anybody has put the taint on the node that goes with it."""

    async def check(cluster: Cluster) -> dict[str, str]:
        for name in ("open", "cordoned"):
            await a_ready_node(cluster, name)
        await cluster.api.patch(NODES, "cordoned", {"spec": {"unschedulable": True}})
        await cluster.settled()
        for name in ("p", "q"):
            await cluster.create(a_pod(name))
        await cluster.settled()
        return await placed(cluster)

    assert {"p": "open", "q": "open"} == run_cluster(check, processes=PROCESSES)


def test_a_run_repeats() -> None:
    """The same seed places the same pods on the same nodes."""

    async def check(cluster: Cluster) -> dict[str, str]:
        for name in ("a", "b", "c"):
            await a_ready_node(cluster, name)
        for number in range(10):
            await cluster.create(a_pod(f"p{number}"))
        await cluster.settled()
        return await placed(cluster)

    first, again = (run_cluster(check, processes=PROCESSES, seed=7) for _ in range(2))

    assert first == again
    assert {"a", "b", "c"} == set(first.values())


def test_a_killed_scheduler_leaves_nothing_undone() -> None:
    """What was created while it was dead is scheduled when it is back."""

    async def check(cluster: Cluster) -> dict[str, str]:
        await a_ready_node(cluster, "a")
        await cluster.settled()
        await cluster.stop("scheduler")
        await cluster.create(a_pod("p"))
        cluster.start("scheduler")
        await cluster.settled()
        return await placed(cluster)

    assert {"p": "a"} == run_cluster(check, processes=PROCESSES)


def test_plugins_know_the_pods_that_they_are_asked_about() -> None:
    """They read the pods that fill the queue: another watch could be behind."""

    async def check(cluster: Cluster) -> tuple[object, object]:
        manager = Manager(cluster.api, cluster.clock, random.Random(1))
        scheduler = add_to(manager)
        (plugin, *_) = scheduler.frameworks["default-scheduler"].plugins
        return plugin.handle.lister(PODS), manager.informer(PODS, field_selector=NOT_ENDED)

    read_by_plugins, filling_the_queue = run_cluster(check)
    assert filling_the_queue is read_by_plugins
