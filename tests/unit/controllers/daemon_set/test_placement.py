"""Where daemon pods run, and what they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.daemon_set.failures import Failures, Place
from controllers.daemon_set.placement import Placement, Requirements
from controllers.daemon_set.pod import new_pod, target_node, tolerations_of
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.daemon_set.situations import a_daemon_set, a_node

RUNS, STAYS, NEITHER = Placement(True, True), Placement(False, True), Placement(False, False)
ZONE = {"key": "zone", "operator": "In", "values": ["x"]}
NODE_PROBLEMS = ("not-ready:NoExecute", "unreachable:NoExecute", "disk-pressure:NoSchedule")
NODE_PROBLEMS += ("memory-pressure:NoSchedule", "pid-pressure:NoSchedule", "unschedulable:NoSchedule")


def required(*expressions: Object) -> Object:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("pod", "taints", "expected"),
    [
        ({}, [], RUNS),
        ({"nodeSelector": {"zone": "x"}}, [], RUNS),
        ({"nodeSelector": {"zone": "y"}}, [], NEITHER),
        (required(ZONE), [], RUNS),
        (required({**ZONE, "operator": "NotIn"}), [], NEITHER),
        ({"nodeName": "n"}, [], RUNS),
        ({"nodeName": "m"}, [], NEITHER),
        ({}, ["k:NoSchedule"], STAYS),
        ({}, ["k:NoExecute"], NEITHER),
        ({}, ["k:PreferNoSchedule"], RUNS),
        ({}, ["k:NoSchedule", "l:NoExecute"], NEITHER),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, ["k:NoExecute"], RUNS),
        ({"tolerations": [{"key": "l", "operator": "Exists"}]}, ["k:NoSchedule", "l:NoExecute"], STAYS),
        ({}, [f"node.kubernetes.io/{problem}" for problem in NODE_PROBLEMS], RUNS),
        ({}, ["node.kubernetes.io/network-unavailable:NoSchedule"], STAYS),
        ({"hostNetwork": True}, ["node.kubernetes.io/network-unavailable:NoSchedule"], RUNS),
    ],
)
def test_nodes_are_chosen_by_affinity_and_taints(pod: Object, taints: list[str], expected: Placement) -> None:
    """A node's troubles count for nothing; other taints keep pods away and, with NoExecute, drive them out."""
    requirements = Requirements.of(a_daemon_set(pod=pod))

    assert expected == requirements.placement(a_node("n", *taints, zone="x"))


def test_a_time_limit_of_the_template_is_lifted() -> None:
    """The toleration keeps its place; those that differ are kept beside the added ones."""
    limited = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    other = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}

    found = tolerations_of({"tolerations": [{**limited, "tolerationSeconds": 9}, other]})

    assert ([limited, other], 7) == (found[:2], len(found))


@pytest.mark.parametrize(
    "affinity",
    [
        {},
        required(ZONE),
        {"affinity": {"podAntiAffinity": {"x": []}}},
        {"affinity": {"nodeAffinity": {"preferred": []}}},
    ],
)
def test_a_pod_is_bound_to_its_node(affinity: Any) -> None:
    """By a required term alone; whatever else the template prefers stays, and the template is untouched."""
    daemon_set = a_daemon_set(pod=affinity)
    before = repr(daemon_set)

    pod = new_pod(daemon_set, "n", "hash", "3")

    kept = {**affinity.get("affinity", {})}
    found = dict(pod["spec"]["affinity"])
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    node_affinity = found.pop("nodeAffinity")
    assert ("n", before) == (target_node(pod), repr(daemon_set))
    assert {"nodeSelectorTerms": [term]} == node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert {k: v for k, v in kept.items() if k != "nodeAffinity"} == found
    assert ("hash", "3") == tuple(
        pod["metadata"]["labels"][key] for key in ("controller-revision-hash", "pod-template-generation")
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeName": "n"}, "n"),
        ({}, ""),
        (required(ZONE), ""),
    ],
)
def test_the_target_is_where_it_runs(spec: Object, expected: str) -> None:
    """A pod that is bound to no node by name belongs to none."""
    assert expected == target_node({"spec": spec})


class StillClock:
    """Time that stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def test_failed_pods_are_replaced_at_growing_intervals() -> None:
    """One second, then twice as long each time, a quarter of an hour at most; after half an hour of peace one again."""
    clock = StillClock()
    failures = Failures(clock)  # type: ignore[arg-type]
    place, elsewhere = Place("set", 1, "a"), Place("set", 2, "a")
    waits = [failures.seconds_to_wait(place)]

    for _ in range(12):
        failures.replaced(place)
        waits.append(failures.seconds_to_wait(place))
        clock.seconds += waits[-1]
    clock.seconds += 1801
    failures.replaced(place)

    assert [0, *(2**i for i in range(10)), 900, 900] == waits
    assert (1, 0) == (failures.seconds_to_wait(place), failures.seconds_to_wait(elsewhere))
