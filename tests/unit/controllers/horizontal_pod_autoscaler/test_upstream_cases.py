"""Cases that upstream's own tests decide (replica_calculator_test.go and horizontal_test.go, v1.36), row by row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from controllers.horizontal_pod_autoscaler.model import Tolerances
from controllers.horizontal_pod_autoscaler.pace import Memory, Moment, pace
from controllers.horizontal_pod_autoscaler.replicas import (
    Proposal,
    Sample,
    Samples,
    Situation,
    by_average,
    by_share,
    by_utilization,
    by_value,
)
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.autoscalers import a_spec, rules
from tests.unit.controllers.workloads import NOW, a_pod, seconds_ago

LONG_AGO = seconds_ago(3600)
REQUEST = 2000  # of a pod: two containers with a core each


def a_situation(pods: str, wanted: int | None = None, tolerances: Tolerances | None = None) -> Situation:
    """One letter a pod: Ready, Unready since its start, Just ready, Failed, Pending, or being Deleted."""
    listed = [_pod(str(i), letter) for i, letter in enumerate(pods)]
    count = len(pods) if wanted is None else wanted
    return Situation(listed, count, count, tolerances or Tolerances(), NOW)


def _pod(name: str, letter: str) -> Object:
    phase = {"F": "Failed", "P": "Pending"}.get(letter, "Running")
    since = NOW if letter == "J" else NOW - timedelta(hours=1)
    pod = a_pod(name, phase=phase, deleted=letter == "D")
    pod["status"] |= {
        "phase": phase,
        "startTime": seconds_ago(5) if letter == "J" else LONG_AGO,
        "conditions": [
            {
                "type": "Ready",
                "status": "True" if letter in "RJ" else "False",
                "lastTransitionTime": since.isoformat().replace("+00:00", "Z"),
            }
        ],
    }
    return pod


def used(*values: int) -> Samples:
    return {str(i): Sample(value, NOW, 60) for i, value in enumerate(values)}


@pytest.mark.parametrize(
    ("pods", "usage", "target", "expected"),
    [
        ("RRR", (600, 1000, 1400), 30, Proposal(5, 1000, 50)),
        ("URR", (600, 1000, 1400), 30, Proposal(4, 1200, 60)),
        ("JRR", (600, 1000, 1400), 30, Proposal(4, 1200, 60)),
        ("RUU", (800, 1000, 1400), 30, Proposal(3, 800, 40)),
        ("RRRRR", (200, 600, 1000, 500, 500), 50, Proposal(3, 560, 28)),
        ("RRRUU", (200, 600, 1000, 500, 500), 50, Proposal(2, 600, 30)),
        ("RRRJJ", (200, 600, 1000, 500, 500), 50, Proposal(2, 600, 30)),
        ("RPPPP", (200,), 50, Proposal(1, 200, 10)),
        ("RRRR", (800, 190), 100, Proposal(3, 495, 24)),
        ("RR", (2000,), 100, Proposal(2, 2000, 100)),
        ("RR", (3800,), 100, Proposal(2, 3800, 190)),
        ("RR", (1200,), 100, Proposal(2, 1200, 60)),
        ("URR", (200, 900), 50, Proposal(3, 900, 45)),
        ("URR", (200, 4000), 50, Proposal(4, 4000, 200)),
        ("URRR", (200, 200, 200), 50, Proposal(3, 200, 10)),
        ("URRR", (400, 200, 200), 300, Proposal(2, 200, 10)),
    ],
)
def test_utilization_with_pods_of_all_sorts(pods: str, usage: Sequence[int], target: int, expected: Proposal) -> None:
    """Pods that are unready or not measured hold back what the others call for."""
    requests = dict.fromkeys(map(str, range(len(pods))), REQUEST)
    assert by_utilization(a_situation(pods), used(*usage), "cpu", target, lambda: requests) == expected


@pytest.mark.parametrize(
    ("pods", "wanted", "usage", "target", "expected"),
    [
        ("RRFF", 2, (1000, 1400), 30, Proposal(4, 1200, 60)),
        ("RRDD", 2, (1000, 1400), 30, Proposal(4, 1200, 60)),
        ("RRRRRFF", 5, (200, 600, 1000, 500, 500), 50, Proposal(3, 560, 28)),
        ("RRRRRDD", 5, (200, 600, 1000, 500, 500), 50, Proposal(3, 560, 28)),
        ("RRR", 2, (200, 200), 50, Proposal(2, 200, 10)),
        ("RRRR", 4, (8000, 19000, 6000, 14000, 6400, 4000), 100, Proposal(24, 11750, 587)),
    ],
)
def test_pods_beyond_those_wanted(
    pods: str, wanted: int, usage: Sequence[int], target: int, expected: Proposal
) -> None:
    """Failed and deleted ones do not count, and those of a surge turn no direction round."""
    requests = dict.fromkeys(map(str, range(len(pods))), REQUEST)
    situation = a_situation(pods, wanted)
    assert by_utilization(situation, used(*usage), "cpu", target, lambda: requests) == expected


@pytest.mark.parametrize(
    ("tolerances", "usage", "expected"),
    [
        (Tolerances(), (2020, 2060, 2040), 3),
        (Tolerances(0.0, 0.0), (1818, 2020, 2222), 4),
        (Tolerances(0.1, 2.0), (3780, 3820, 3800), 3),
        (Tolerances(2.0, 0.08), (2200, 2160, 2180), 4),
        (Tolerances(0.36, 0.1), (1320, 1280, 1300), 3),
        (Tolerances(0.34, 0.1), (1320, 1280, 1300), 2),
    ],
)
def test_tolerances(tolerances: Tolerances, usage: Sequence[int], expected: int) -> None:
    """Down and up have their own."""
    requests = dict.fromkeys("012", 2000)
    situation = a_situation("RRR", tolerances=tolerances)
    assert by_utilization(situation, used(*usage), "cpu", 100, lambda: requests).replicas == expected


@pytest.mark.parametrize(
    ("pods", "usage", "target", "expected"),
    [
        ("RRR", (20000, 10000, 30000), 15000, Proposal(4, 20000)),
        ("RRU", (50000, 10000, 30000), 15000, Proposal(6, 30000)),
        ("URU", (50000, 15000, 30000), 15000, Proposal(7, 31666)),
        ("RRRRR", (12000,) * 5, 20000, Proposal(3, 12000)),
        ("RRR", (20000, 21000, 21000), 20000, Proposal(3, 20666)),
    ],
)
def test_metrics_of_pods(pods: str, usage: Sequence[int], target: int, expected: Proposal) -> None:
    """Whether a pod is ready says nothing about a metric that is not CPU."""
    assert by_average(a_situation(pods), used(*usage), "", target) == expected


@pytest.mark.parametrize(
    ("pods", "usage", "target", "expected"),
    [("RRR", 20000, 15000, 4), ("URU", 50000, 10000, 5), ("URU", 8600, 4400, 2), ("RRRRR", 12000, 20000, 3)],
)
def test_one_metric_for_all(pods: str, usage: int, target: int, expected: int) -> None:
    """Only ready pods are multiplied."""
    assert by_value(a_situation(pods), usage, target) == Proposal(expected, usage)


@pytest.mark.parametrize(
    ("present", "usage", "target", "expected"),
    [
        (3, 20000, 5000, Proposal(4, 6667)),
        (4, 20166, 5000, Proposal(4, 5042)),
        (3, 8600, 2150, Proposal(4, 2867)),
        (5, 8600, 3000, Proposal(3, 1720)),
    ],
)
def test_a_share_for_each(present: int, usage: int, target: int, expected: Proposal) -> None:
    """What is said of it is rounded up."""
    assert by_share(Situation([], present, present, Tolerances(), NOW), usage, target) == expected


def moments(period: int, *changes: int) -> list[Moment]:
    """Spread evenly over a period of seconds, the oldest first."""
    segment = period / len(changes)
    ages = [period - segment * (i + 0.5) for i in range(len(changes))]
    return [Moment(change, NOW - timedelta(seconds=age)) for change, age in zip(changes, ages, strict=True)]


@pytest.mark.parametrize(
    ("up", "added", "removed", "current", "desired", "expected"),
    [
        (rules(("Pods", 1, 60)), [], [], 3, 1000, (4, "ScaleUpLimit")),
        (rules(("Pods", 100, 60)), [], [], 100, 500, (200, "ScaleUpLimit")),
        (rules(("Pods", 1000, 60)), [], [], 100, 500, (500, "DesiredWithinRange")),
        (rules(("Pods", 100, 60), ("Percent", 200, 60)), [], [], 100, 500, (300, "ScaleUpLimit")),
        (rules(("Pods", 150, 120)), moments(120, 1, 5, 9), [], 100, 500, (235, "ScaleUpLimit")),
        (rules(("Percent", 200, 60)), moments(60, 1, 5, 9), [], 100, 500, (255, "ScaleUpLimit")),
        (rules(("Percent", 10, 60)), moments(60, 80), [], 100, 500, (100, "ScaleUpLimit")),
        (rules(("Pods", 100, 60)), [], moments(60, 20), 100, 500, (220, "ScaleUpLimit")),
        (rules(("Pods", 100, 60), select="Disabled"), [], [], 100, 500, (100, "ScaleUpLimit")),
    ],
)
def test_how_far_up_policies_let_one_go(
    up: Object, added: list[Moment], removed: list[Moment], current: int, desired: int, expected: tuple[int, str]
) -> None:
    """From what there was when their periods began; what is over the limit already stays."""
    behavior = {"scaleUp": up, "scaleDown": rules(("Percent", 100, 15))}
    spec = a_spec(minReplicas=1, maxReplicas=1000, behavior=behavior)
    paced = pace(spec, Memory(added=added, removed=removed), current, desired, NOW)
    assert (paced.replicas, paced.limited[0]) == expected


@pytest.mark.parametrize(
    ("down", "removed", "current", "desired", "expected"),
    [
        (rules(("Pods", 20, 60)), [], 1000, 3, (980, "ScaleDownLimit")),
        (rules(("Percent", 60, 60)), [], 100, 0, (40, "ScaleDownLimit")),
        (rules(("Pods", 50, 60), ("Percent", 20, 60)), [], 100, 0, (50, "ScaleDownLimit")),
        (rules(("Pods", 50, 60), ("Percent", 20, 60), select="Min"), [], 100, 0, (80, "ScaleDownLimit")),
        (rules(("Pods", 100, 120)), moments(120, 1, 5, 9), 100, 2, (15, "ScaleDownLimit")),
        (rules(("Percent", 10, 60)), moments(60, 20), 100, 5, (100, "ScaleDownLimit")),
        (rules(("Percent", 100, 60)), moments(60, 8, 12), 100, 5, (5, "DesiredWithinRange")),
    ],
)
def test_how_far_down_policies_let_one_go(
    down: Object, removed: list[Moment], current: int, desired: int, expected: tuple[int, str]
) -> None:
    """Likewise."""
    behavior = {"scaleUp": rules(("Pods", 4, 15)), "scaleDown": down}
    spec = a_spec(minReplicas=1, maxReplicas=1000, behavior=behavior)
    paced = pace(spec, Memory(removed=removed), current, desired, NOW)
    assert (paced.replicas, paced.limited[0]) == expected
