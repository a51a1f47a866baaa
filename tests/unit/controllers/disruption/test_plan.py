"""What a budget's status has to be."""

from typing import Any

import pytest

from controllers.disruption import plan
from controllers.disruption.plan import Counts
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import NOW, a_pod, seconds_ago


def a_budget(status: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "b", "namespace": "default", "generation": 2}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 1}, Counts(4, 1)),
        ({"minAvailable": 9}, Counts(4, 9)),
        ({"minAvailable": "50%"}, Counts(5, 3)),
        ({"minAvailable": "100%"}, Counts(5, 5)),
        ({"maxUnavailable": 2}, Counts(5, 3)),
        ({"maxUnavailable": 7}, Counts(5, 0)),
        ({"maxUnavailable": "30%"}, Counts(5, 3)),
        ({}, Counts(0, 0)),
    ],
)
def test_how_many_must_stay(spec: Object, expected: Counts) -> None:
    """Numbers of minAvailable count pods that are there; all else the owners' scale, percentages rounded up."""
    assert expected == plan.counts(a_budget(**spec), pod_count=4, scale=5)


@pytest.mark.parametrize(
    ("healthy", "counts", "allowed"),
    [(3, Counts(3, 1), 2), (1, Counts(3, 1), 0), (1, Counts(3, 2), 0), (2, Counts(0, 0), 0)],
)
def test_what_is_above_the_need_may_go(healthy: int, counts: Counts, allowed: int) -> None:
    """Never less than none, and none where no pods are expected."""
    pods = [a_pod(f"p{i}") for i in range(healthy)] + [a_pod("unready", ready=None)]

    status = plan.status(a_budget(), pods, counts, {}, NOW)

    assert (healthy, allowed) == (status["currentHealthy"], status["disruptionsAllowed"])
    assert [
        {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "observedGeneration": 2,
            "lastTransitionTime": seconds_ago(0),
        }
    ] == status["conditions"]


def test_pods_on_their_way_out_are_not_healthy() -> None:
    """Neither those being deleted nor those evicted a moment ago; the latter stay remembered."""
    pods = [a_pod("stays"), a_pod("goes", deleted=True), a_pod("evicted")]

    status = plan.status(a_budget(), pods, Counts(3, 1), {"evicted": seconds_ago(1)}, NOW)

    assert (1, 0) == (status["currentHealthy"], status["disruptionsAllowed"])
    assert {"evicted": seconds_ago(1)} == status["disruptedPods"]


def test_evictions_are_remembered_until_they_are_seen_or_have_failed() -> None:
    """Pods being deleted or gone are forgotten, and after two minutes an eviction is held to have failed."""
    remembered = {
        "fresh": seconds_ago(20),
        "older": seconds_ago(90),
        "failed": seconds_ago(121),
        "seen": seconds_ago(5),
        "gone": seconds_ago(5),
    }
    pods = [a_pod("fresh"), a_pod("older"), a_pod("failed"), a_pod("seen", deleted=True), a_pod("other")]

    disrupted = plan.disrupted(a_budget({"disruptedPods": remembered}), pods, NOW)

    assert plan.Disrupted({"fresh": seconds_ago(20), "older": seconds_ago(90)}, ["failed"], 30.0) == disrupted


def test_nothing_may_go_while_the_need_is_unknown() -> None:
    """What was counted before stays; the condition says why."""
    before = {"observedGeneration": 1, "disruptionsAllowed": 3, "currentHealthy": 4}

    status = plan.failed_status(a_budget(before), "found no controllers", NOW)

    assert {**before, "disruptionsAllowed": 0} == {k: v for k, v in status.items() if k != "conditions"}
    assert ("SyncFailed", "found no controllers", 1) == tuple(
        status["conditions"][0][field] for field in ("reason", "message", "observedGeneration")
    )
