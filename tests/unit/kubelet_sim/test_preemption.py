"""Pods that a cluster cannot do without, bound to a node that is full: who goes for them, and what is said."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kubelet_sim import preemption
from kubelet_sim.preemption import NothingToReclaim
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import EVENTS
from kubeloop.testing.builders import PodBuilder
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running

CRITICAL = 2_000_000_000
BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def a_candidate(name: str, quality: str, priority: int = 0, **amounts: int) -> preemption.Candidate:
    pod = {"metadata": {"name": name}, "spec": {"priority": priority}, "status": {"qosClass": quality}}
    return pod, {"pods": 1, **amounts}


def go_for(missing: dict[str, int], *candidates: preemption.Candidate, priority: int = CRITICAL) -> list[str]:
    pod = {"metadata": {"name": "critical"}, "spec": {"priority": priority}}
    return [name_of(one) for one in preemption.victims(pod, candidates, missing)]


def test_best_effort_goes_before_burstable_before_guaranteed() -> None:
    """Where any would do."""
    all_three = [a_candidate(quality.lower(), quality, cpu=500) for quality in (GUARANTEED, BURSTABLE, BEST_EFFORT)]

    assert ["besteffort"] == go_for({"pods": 1}, *all_three)
    assert ["burstable"] == go_for({"pods": 1}, *all_three[:2])
    assert ["besteffort", "burstable"] == go_for({"cpu": 1000}, *all_three)
    assert ["besteffort", "burstable", "guaranteed"] == go_for({"cpu": 1200}, *all_three)


def test_a_guaranteed_pod_spares_those_that_are_not_needed_beside_it() -> None:
    """What must go anyway counts before the others are chosen."""
    small, large = a_candidate("small", BURSTABLE, cpu=200), a_candidate("large", GUARANTEED, cpu=1000)

    assert ["large"] == go_for({"cpu": 600}, small, large)


def test_as_few_and_as_small_pods_as_possible_go() -> None:
    """First the one that fills most of what is missing; of those that fill it all the smallest."""
    sizes = (100, 300, 500, 800)
    candidates = [a_candidate(f"of-{cpu}", BURSTABLE, cpu=cpu, memory=cpu) for cpu in sizes]

    assert ["of-500"] == go_for({"cpu": 400}, *candidates)
    assert ["of-800", "of-300"] == go_for({"cpu": 1050}, *candidates)


def test_each_resource_counts_by_its_share() -> None:
    """However large its numbers are."""
    lean, fat = a_candidate("lean", BURSTABLE, cpu=900, memory=10), a_candidate("fat", BURSTABLE, cpu=10, memory=100)

    assert ["lean", "fat"] == go_for({"cpu": 900, "memory": 101}, fat, lean)


def test_only_weaker_pods_go() -> None:
    """One critical pod goes for a more important one, and none for its like."""
    ordinary, critical = a_candidate("a", BURSTABLE, 1000, cpu=100), a_candidate("b", BURSTABLE, CRITICAL, cpu=100)

    assert ["a"] == go_for({"cpu": 50}, critical, ordinary)
    assert ["a", "b"] == sorted(go_for({"cpu": 150}, critical, ordinary, priority=CRITICAL + 1000))
    with pytest.raises(NothingToReclaim) as refused:
        go_for({"cpu": 150, "pods": 3}, critical, ordinary)
    text = "no set of running pods found to reclaim resources: [(res: cpu, q: 50), (res: pods, q: 2), ]"
    assert text == str(refused.value)


def critical(name: str = "critical", **requests: str) -> PodBuilder:
    return pod_on("node-0", name, priorityClassName="system-node-critical").requests(**requests)


SLEEPER: Object = {"name": "c", "image": "i", "command": ["sleep", "1h"]}  # it has to be killed


async def over(cluster: Cluster, pod: Object) -> Object | None:
    current = await cluster.read(pod)
    return current if current["status"]["phase"] == "Failed" else None


async def told(cluster: Cluster, name: str) -> list[str]:
    events = [event for event in await cluster.list(EVENTS) if event["involvedObject"]["name"] == name]
    return [f"{event['type']} {event['reason']}: {event['message']}" for event in events]


def test_a_full_node_makes_room_for_a_critical_pod() -> None:
    """The pod that goes is told, has its own grace, and says why it went; then the critical one is taken."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        kept = await cluster.create(pod_on("node-0", "kept").requests(cpu="300m"))
        await cluster.eventually(partial(running, cluster, kept))
        lost = await cluster.create(pod_on("node-0", "lost", containers=[SLEEPER]).requests(cpu="3"))
        await cluster.eventually(partial(running, cluster, lost))
        pod = await cluster.create(critical(cpu="1200m"))
        gone = await cluster.eventually(partial(over, cluster, lost))
        taken = await cluster.eventually(partial(running, cluster, pod))

        assert ("Preempting", "Preempted in order to admit critical pod") == (
            gone["status"]["reason"],
            gone["status"]["message"],
        )
        condition: Any = get_condition(conditions_of(gone), "DisruptionTarget")
        assert ("True", "TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod.") == (
            condition["status"],
            condition["reason"],
            condition["message"],
        )
        assert "Warning Preempting: Preempted in order to admit critical pod" in await told(cluster, "lost")
        ended = gone["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
        assert ended <= taken["status"]["startTime"]
        assert await running(cluster, kept)

    run_nodes(check, nodes=1)


def test_a_critical_pod_that_nobody_can_make_room_for_is_rejected() -> None:
    """Nobody goes for nothing."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        other = await cluster.create(pod_on("node-0", "other").requests(cpu="1"))
        await cluster.eventually(partial(running, cluster, other))
        failed = await cluster.eventually(partial(over, cluster, await cluster.create(critical(cpu="5"))))

        why = "preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources"
        assert "UnexpectedAdmissionError" == failed["status"]["reason"]
        expected = (
            f"Unexpected error while attempting to recover from admission failure: {why}: [(res: cpu, q: 1000), ]"
        )
        assert f"Pod was rejected: {expected}" == failed["status"]["message"]
        assert await running(cluster, other)

    run_nodes(check, nodes=1)


def test_a_critical_pod_that_the_node_refuses_anyway_preempts_nobody() -> None:
    """No room would mend that; it is what is told."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        other = await cluster.create(pod_on("node-0", "other").requests(cpu="4"))
        await cluster.eventually(partial(running, cluster, other))
        pod = await cluster.create(critical(cpu="1").spec(nodeSelector={"disk": "ssd"}))

        assert "NodeAffinity" == (await cluster.eventually(partial(over, cluster, pod)))["status"]["reason"]
        assert await running(cluster, other)

    run_nodes(check, nodes=1)


def test_room_is_made_across_a_restart() -> None:
    """What is to go is found out again, and the critical pod waits for it again."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        slow = pod_on("node-0", "lost", terminationGracePeriodSeconds=20).requests(cpu="4")
        lost = await cluster.create(slow.annotations({"kubeloop.io/stop-after": "never"}))
        await cluster.eventually(partial(running, cluster, lost))
        pod = await cluster.create(critical(cpu="1"))
        await cluster.clock.sleep(5)
        assert "Pending" == (await cluster.read(pod))["status"]["phase"]
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)

        assert "Preempting" == (await cluster.eventually(partial(over, cluster, lost)))["status"]["reason"]
        await cluster.eventually(partial(running, cluster, pod))

    run_nodes(check, nodes=1)
