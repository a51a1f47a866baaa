"""A ReplicaSet's status from its pods."""

from typing import Any

import pytest

from controllers.replicaset import status
from controllers.replicaset.groups import grouped
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import NOW, a_pod, a_replica_set

REFUSED = Forbidden.of("pods", "", "web-", "exceeded quota")
FAILURE = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "before"}


def an_owner(replicas: int = 3, **fields: Any) -> Object:
    owner = a_replica_set("web", replicas, **fields)
    owner["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "front"}
    return owner


def test_pods_are_counted_by_what_they_are() -> None:
    """Labelled as the template, ready, and ready for long enough are counted apart; terminating ones beside them."""
    pods = [
        a_pod("available", ready=100, labels={"app": "web", "tier": "front", "more": "x"}),
        a_pod("young", ready=5),
        a_pod("not-ready", ready=None),
    ]

    counted = status.compute(an_owner(spec={"minReadySeconds": 10}), grouped(pods), 1, None, NOW)

    assert {
        "replicas": 3,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "observedGeneration": 1,
        "terminatingReplicas": 1,
    } == counted


@pytest.mark.parametrize(
    ("stored", "failure", "active", "expected"),
    [
        ([], REFUSED, 1, [("ReplicaFailure", "FailedCreate", str(REFUSED))]),
        ([], REFUSED, 5, [("ReplicaFailure", "FailedDelete", str(REFUSED))]),
        ([FAILURE], REFUSED, 1, [("ReplicaFailure", "FailedCreate", "before")]),
        ([FAILURE], None, 3, []),
        ([], None, 3, []),
    ],
    ids=["told", "too many", "not told anew", "taken away", "nothing to tell"],
)
def test_failures_are_told_once(stored: list[Object], failure: Exception, active: int, expected: list[Any]) -> None:
    """ReplicaFailure comes with the first failure, stays as it is while they go on, and goes with the last."""
    owner = an_owner(status={"conditions": stored})

    computed = status.compute(owner, grouped(a_pod(f"p{i}") for i in range(active)), None, failure, NOW)

    assert expected == [(c["type"], c["reason"], c["message"]) for c in computed.get("conditions", [])]


@pytest.mark.parametrize(
    ("stored", "differs"),
    [
        ({}, True),
        ({"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0}, False),
        ({"replicas": 0, "observedGeneration": 1}, True),
        ({"replicas": 0, "observedGeneration": 0, "terminatingReplicas": 0}, True),
    ],
    ids=["new", "the same", "terminating not told yet", "another generation"],
)
def test_only_a_difference_is_written(stored: Object, differs: bool) -> None:
    """Fields left out as zero are no difference; a count of terminating pods that was never given is."""
    owner = {**an_owner(0), "status": stored}

    assert differs == status.differs(owner, status.compute(owner, [], 0, None, NOW))


@pytest.mark.parametrize(
    ("min_ready_seconds", "ready", "expected"), [(0, [5], None), (10, [5, 8], 2.0), (10, [50], None), (10, [], None)]
)
def test_it_looks_again_when_a_pod_becomes_available(
    min_ready_seconds: int, ready: list[int], expected: float | None
) -> None:
    """The next look is when the first ready pod has been ready for minReadySeconds."""
    owner = an_owner(spec={"minReadySeconds": min_ready_seconds})
    pods = grouped(a_pod(f"p{i}", ready=seconds) for i, seconds in enumerate(ready))

    computed = status.compute(owner, pods, 0, None, NOW)

    assert expected == status.seconds_to_next_availability(owner, computed, pods, NOW)


def test_a_ready_pod_without_a_time_is_looked_at_later() -> None:
    """Where nobody noted when a pod became ready, minReadySeconds is waited for as a whole."""
    owner, pod = an_owner(spec={"minReadySeconds": 10}), a_pod()
    del pod["status"]["conditions"][0]["lastTransitionTime"]

    computed = status.compute(owner, grouped([pod]), 0, None, NOW)

    assert (0, 10.0) == (
        computed["availableReplicas"],
        status.seconds_to_next_availability(owner, computed, grouped([pod]), NOW),
    )
