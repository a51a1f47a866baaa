"""Pods that nobody else removes."""

from typing import Any

import pytest

from controllers import pod_gc
from controllers.pod_gc import out_of_service, too_many_ended
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.testing.builders import a_node
from kubeloop.testing.builders import a_pod as a_pod_to_create
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers.workloads import a_pod

LOOPS = {"gc": a_loop(pod_gc.add_to)}


def ended(name: str, age: int, **status: Any) -> Object:
    return a_pod(name, age=age, phase="Failed", status=status)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(5, []), (4, []), (3, ["evicted"]), (1, ["evicted", "a", "b"]), (0, [])],
)
def test_of_too_many_that_ended_the_oldest_go(threshold: int, expected: list[str]) -> None:
    """Evicted ones before all others; running pods do not count; 0 means no limit."""
    pods = [ended("new", 1), ended("b", 9), a_pod("running", age=99), ended("a", 9)]
    pods.append(ended("evicted", 2, reason="Evicted"))

    assert expected == [name_of(pod) for pod in too_many_ended(pods, threshold)]


@pytest.mark.parametrize(
    ("ready", "taint", "deleted", "expected"),
    [
        ("Unknown", "node.kubernetes.io/out-of-service", True, ["p"]),
        ("True", "node.kubernetes.io/out-of-service", True, []),
        ("False", "node.kubernetes.io/unreachable", True, []),
        ("False", "node.kubernetes.io/out-of-service", False, []),
    ],
)
def test_pods_of_a_node_out_of_service(ready: str, taint: str, deleted: bool, expected: list[str]) -> None:
    """Go if they are being deleted, the node is not ready and somebody has given it up."""
    node = a_node("node-0").tainted(taint, "NoExecute")
    node["status"]["conditions"][0]["status"] = ready

    doomed = out_of_service([a_pod("p", deleted=deleted), a_pod("q", deleted=True, node="")], {"node-0": node})

    assert expected == [name_of(pod) for pod in doomed]


def test_orphans_are_failed_and_removed() -> None:
    """After their node has been missing for 40 seconds; what a finalizer holds says why it failed."""

    async def check(cluster: Cluster) -> tuple[bool, dict[str, Any]]:
        node = await cluster.create(a_node("going"))
        await cluster.create(a_pod_to_create("free").on("going"))
        await cluster.create(a_pod_to_create("held").on("going").finalizers("example.com/hold"))
        await cluster.delete(node)
        began = cluster.clock.monotonic()

        async def is_one_left() -> bool:
            return ["held"] == [name_of(pod) for pod in await cluster.list(PODS)]

        await cluster.eventually(is_one_left, within_seconds=90)
        seconds = cluster.clock.monotonic() - began
        held = await cluster.api.get(PODS, "held", "default")
        condition = get_condition(conditions_of(held), "DisruptionTarget") or {}
        return 40 <= seconds <= 61, {
            "phase": held["status"]["phase"],
            "grace": held["metadata"]["deletionGracePeriodSeconds"],
            "generation": held["status"]["observedGeneration"],
            "why": (condition["reason"], condition["message"]),
        }

    in_time, held = run_cluster(check, processes=LOOPS)

    why = ("DeletionByPodGC", "PodGC: node no longer exists")
    assert {"phase": "Failed", "grace": 0, "generation": 1, "why": why} == held
    assert in_time


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    """The quarantine begins anew when it goes again."""

    async def check(cluster: Cluster) -> list[str]:
        node = await cluster.create(a_node("flaky"))
        await cluster.create(a_pod_to_create("p").on("flaky"))
        for _ in range(3):
            await cluster.delete(node)
            await cluster.clock.sleep(35)
            node = await cluster.create(a_node("flaky"))
            await cluster.clock.sleep(25)
        return [name_of(pod) for pod in await cluster.list(PODS)]

    assert ["p"] == run_cluster(check, processes=LOOPS)
