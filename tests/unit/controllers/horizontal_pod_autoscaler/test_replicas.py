"""How many pods a usage calls for."""

from typing import Any

import pytest

from controllers.horizontal_pod_autoscaler.model import Tolerances
from controllers.horizontal_pod_autoscaler.replicas import (
    NoProposal,
    Proposal,
    Situation,
    by_average,
    by_share,
    by_utilization,
    by_value,
    group,
)
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.autoscalers import samples
from tests.unit.controllers.workloads import NOW, a_pod, seconds_ago


def a_measured_pod(name: str, **fields: Any) -> Object:
    """Running since an hour ago, unless told otherwise."""
    status = {"startTime": seconds_ago(fields.pop("started", 3600))}
    return a_pod(name, status=status, ready=fields.pop("ready", 3000), **fields)


def a_situation(*pods: Object, wanted: int | None = None, tolerances: Tolerances | None = None) -> Situation:
    count = len(pods) if wanted is None else wanted
    return Situation(pods, count, count, tolerances or Tolerances(), NOW)


THREE = [a_measured_pod(name) for name in "abc"]
REQUESTS = dict.fromkeys("abcd", 100)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"a": 50, "b": 50, "c": 50}, Proposal(3, 50, 50)),
        ({"a": 55, "b": 55, "c": 55}, Proposal(3, 55, 55)),
        ({"a": 56, "b": 56, "c": 56}, Proposal(4, 56, 56)),
        ({"a": 45, "b": 45, "c": 45}, Proposal(3, 45, 45)),
        ({"a": 44, "b": 44, "c": 44}, Proposal(3, 44, 44)),
        ({"a": 10, "b": 10, "c": 10}, Proposal(1, 10, 10)),
        ({"a": 300, "b": 0, "c": 0}, Proposal(6, 100, 100)),
        ({"a": 10**20}, Proposal(2**31 - 1, 10**20, 2**31 - 1)),
    ],
)
def test_pods_follow_utilization(used: dict[str, int], expected: Proposal) -> None:
    """Rounded up, and nothing is done within a tenth of the target."""
    proposal = by_utilization(a_situation(*THREE), samples(**used), "cpu", 50, lambda: REQUESTS)

    assert expected == proposal


@pytest.mark.parametrize(
    ("tolerances", "expected"),
    [(Tolerances(up=0.5), 3), (Tolerances(up=0.0), 4), (Tolerances(down=0.5), 4)],
)
def test_a_tolerance_of_its_own(tolerances: Tolerances, expected: int) -> None:
    """Each direction has one."""
    situation = a_situation(*THREE, tolerances=tolerances)

    proposal = by_utilization(situation, samples(a=60, b=60, c=60), "cpu", 50, lambda: REQUESTS)

    assert expected == proposal.replicas


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"a": 10, "b": 10}, 3),  # missing ones count as fully used: 40 % of the target's 50
        ({"a": 0, "b": 0}, 2),
        ({"a": 200, "b": 200}, 8),  # missing ones count as idle
        ({"a": 60, "b": 60}, 3),  # which would turn the direction round
        ({"a": 50, "b": 50}, 3),
    ],
)
def test_pods_without_a_metric(used: dict[str, int], expected: int) -> None:
    """Hold back whatever the others call for, and never turn it round."""
    proposal = by_utilization(a_situation(*THREE), samples(**used), "cpu", 50, lambda: REQUESTS)

    assert expected == proposal.replicas


def test_pods_that_start_hold_back_scaling_up() -> None:
    """They count as idle then, and not at all when scaling down."""
    pods = [a_measured_pod("a"), a_measured_pod("b"), a_measured_pod("c", phase="Pending")]

    up = by_utilization(a_situation(*pods), samples(a=100, b=100), "cpu", 50, lambda: REQUESTS)
    down = by_utilization(a_situation(*pods), samples(a=10, b=10, c=999), "cpu", 50, lambda: REQUESTS)

    assert (4, 1) == (up.replicas, down.replicas)


@pytest.mark.parametrize(
    ("pod", "resource", "expected"),
    [
        (a_measured_pod("a"), "cpu", "ready"),
        (a_measured_pod("a", deleted=True), "cpu", "ignored"),
        (a_measured_pod("a", phase="Failed"), "cpu", "ignored"),
        (a_measured_pod("a", phase="Pending"), "memory", "unready"),
        (a_measured_pod("unknown"), "cpu", "missing"),
        (a_measured_pod("a", started=60, ready=40), "cpu", "ready"),
        (a_measured_pod("a", started=60, ready=20), "cpu", "unready"),  # the window reaches back beyond
        (a_measured_pod("a", started=60, ready=20), "memory", "ready"),
        (a_measured_pod("a", started=60, ready=None), "cpu", "unready"),
        (a_pod("a"), "cpu", "unready"),  # no start time
    ],
)
def test_which_pods_count(pod: Object, resource: str, expected: str) -> None:
    """CPU says nothing in the first minutes of a pod that is not ready, or was not for the whole of the window."""
    groups = group(a_situation(pod), samples(a=1), resource)

    found = {"ready": groups.ready, "unready": groups.unready, "missing": groups.missing, "ignored": groups.ignored}
    assert [expected] == [name for name, members in found.items() if members]


@pytest.mark.parametrize(("readied_after", "expected"), [(10, 0), (40, 1)])
def test_an_old_pod_that_is_not_ready(readied_after: int, expected: int) -> None:
    """Counts, unless it never was ready: its condition has not changed since its start."""
    pod = a_pod("a", status={"startTime": seconds_ago(3600)})
    pod["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "lastTransitionTime": seconds_ago(3600 - readied_after)}
    ]

    assert expected == group(a_situation(pod), samples(a=1), "cpu").ready


def test_averages_need_no_requests() -> None:
    """Missing pods count as just right when scaling down."""
    full = by_average(a_situation(*THREE), samples(a=300, b=300, c=300), "", 100)
    partly = by_average(a_situation(*THREE), samples(a=10, b=10), "", 100)

    assert (Proposal(9, 300), Proposal(2, 10)) == (full, partly)


@pytest.mark.parametrize(
    ("wanted", "usage", "expected"),
    [(3, 1000, 3), (3, 1050, 3), (3, 2000, 6), (3, 100, 1), (0, 2500, 3), (3, 10**16, 2**31 - 1)],
)
def test_one_number_for_all(wanted: int, usage: int, expected: int) -> None:
    """Ready pods are multiplied with how far it is off its target of 1000."""
    assert Proposal(expected, usage) == by_value(a_situation(*THREE, wanted=wanted), usage, 1000)


@pytest.mark.parametrize(
    ("present", "usage", "expected"),
    [(3, 3000, Proposal(3, 1000)), (3, 7500, Proposal(8, 2500)), (0, 1500, Proposal(2, 1500))],
)
def test_one_number_shared(present: int, usage: int, expected: Proposal) -> None:
    """So many pods that each has 1000 of it."""
    assert expected == by_share(Situation([], present, present, Tolerances(), NOW), usage, 1000)


@pytest.mark.parametrize(
    ("pods", "used", "requests", "why"),
    [
        ([], {"a": 1}, REQUESTS, "no pods returned by selector while calculating replica count"),
        ([a_measured_pod("a", phase="Pending")], {"a": 1}, REQUESTS, "did not receive metrics for targeted pods"),
        (THREE, {"x": 1}, REQUESTS, "no metrics returned matched known pods"),
    ],
)
def test_nothing_to_go_by(pods: list[Object], used: dict[str, int], requests: dict[str, int], why: str) -> None:
    """Says what is lacking."""
    with pytest.raises(NoProposal, match=why):
        by_utilization(a_situation(*pods), samples(**used), "cpu", 50, lambda: requests)
