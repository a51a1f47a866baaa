"""Memory that a fault has containers use: seen by metrics, by the node and by who is evicted for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from kubelet_sim import consumption
from kubelet_sim.faults import influence, model
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import NODES
from kubeloop.apimachinery.times import format_time
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import START, a_container, a_pod
from tests.unit.kubelet_sim.test_faults import a_fault, inject, run_faults
from tests.unit.kubelet_sim.test_nodes import pod_on, running

MIB = 2**20
LEAK = {"memory-usage": "64Mi@0s,264Mi@100s"}


def a_leak(behaviour: dict[str, str], begins_after: float) -> model.Fault:
    fault = a_fault("PodBehaviour", pods={}, behaviour=behaviour)
    fault["spec"]["startTime"] = format_time(after(begins_after))
    return model.read(fault)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def a_running(*names: str, annotations: dict[str, str] | None = None) -> Object:
    """Since START."""
    pod = a_pod(*map(a_container, names), annotations=annotations)
    state = {"running": {"startedAt": format_time(START)}}
    pod["status"]["containerStatuses"] = [{"name": name, "state": state} for name in names]
    return pod


def used(fault: model.Fault, pod: Object, seconds: float) -> dict[str, float]:
    """In MiB."""
    found = consumption.in_use(influence.as_used([fault], pod), "memory", after(seconds))
    return {name: round(amount / MIB) for name, amount in found.items()}


@pytest.mark.parametrize(("begins", "at", "amount"), [(-30, 50, 164), (0, 50, 164), (60, 110, 164), (60, 300, 264)])
def test_a_leak_counts_from_its_beginning(begins: float, at: float, amount: int) -> None:
    """Or from the start of a container that came later."""
    assert {"c": amount} == used(a_leak(LEAK, begins), a_running("c"), at)


def test_a_leak_may_be_of_one_container() -> None:
    """The others use what they say."""
    pod = a_running("c", "d", annotations={"kubeloop.io/memory-usage": "10Mi", "kubeloop.io/memory-usage.c": "20Mi"})

    assert {"c": 20, "d": 64} == used(a_leak({"memory-usage.d": "64Mi@0s,264Mi@100s"}, 60), pod, 60)
    assert {"c": 64, "d": 64} == used(a_leak(LEAK, 60), pod, 60)


def test_faults_that_are_not_about_memory_change_no_usage() -> None:
    """The pod is as it was."""
    pod = a_running("c")

    assert pod is influence.as_used([a_leak({"readiness": "fail"}, 0)], pod)


def test_a_leak_without_a_limit_ends_in_an_eviction() -> None:
    """The node is under pressure once its pods leave less than 100Mi, and the one that leaks goes; the others stay."""

    async def check(cluster: Cluster) -> None:
        modest = await cluster.create(pod_on("node-0", "modest").labels(app="modest"))
        leaking = await cluster.create(pod_on("node-0", "leaking").labels(app="leaking"))
        for pod in (modest, leaking):
            await cluster.eventually(partial(running, cluster, pod))
        target: dict[str, Any] = {"namespace": "default", "selector": {"matchLabels": {"app": "leaking"}}}
        behaviour = {"memory-usage": "100Mi@0s,1100Mi@200s"}
        await inject(cluster, a_fault("PodBehaviour", pods=target, behaviour=behaviour))
        await cluster.clock.sleep(150)
        assert "Running" == (await cluster.read(leaking))["status"]["phase"]
        await cluster.clock.sleep(40)

        status = (await cluster.read(leaking))["status"]
        assert ("Failed", "Evicted") == (status["phase"], status.get("reason"))
        assert status["message"].startswith("The node was low on resource: memory. Threshold quantity: 100Mi, ")
        assert "Running" == (await cluster.read(modest))["status"]["phase"]
        node = await cluster.api.get(NODES, "node-0")
        assert "True" == (get_condition(conditions_of(node), "MemoryPressure") or {})["status"]

    run_faults(check, node_memory="1Gi")
