"""How fast an autoscaler goes."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from controllers.horizontal_pod_autoscaler.pace import Memory, pace
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.autoscalers import a_spec, rules
from tests.unit.controllers.workloads import NOW


@pytest.mark.parametrize(
    ("current", "desired", "expected"),
    [
        (3, 5, (5, "DesiredWithinRange", False)),
        (3, 20, (6, "ScaleUpLimit", True)),
        (1, 20, (4, "ScaleUpLimit", True)),
        (6, 20, (10, "TooManyReplicas", True)),
        (3, 0, (2, "TooFewReplicas", True)),
    ],
)
def test_limits_without_a_behavior(current: int, desired: int, expected: tuple[int, str, bool]) -> None:
    """Twice as many or four at once, and never beyond 2 and 10."""
    paced = pace(a_spec(minReplicas=2), Memory(), current, desired, NOW)

    assert expected == (paced.replicas, paced.limited[0], paced.is_limited)


def run(spec_fields: Object, desired: Sequence[int], current: int, every_seconds: int = 60) -> list[tuple[int, str]]:
    """Replicas, and the reason of AbleToScale, after each look; what is decided is done."""
    spec, memory, seen = a_spec(**spec_fields), Memory(), []
    for i, wanted in enumerate(desired):
        now = NOW + timedelta(seconds=every_seconds * i)
        memory.begin(current, now)
        paced = pace(spec, memory, current, wanted, now)
        if paced.replicas != current:
            memory.rescaled(spec.behavior, current, paced.replicas, now)
        current = paced.replicas
        seen.append((current, paced.able[0]))
    return seen


def test_scaling_down_waits_five_minutes() -> None:
    """For the highest count that was called for meanwhile, the first of all included."""
    seen = run({}, [5, 3, 2, 2, 2, 2, 2, 2], current=5)

    assert [5, 5, 5, 5, 5, 5, 3, 2] == [replicas for replicas, _ in seen]
    assert ["ReadyForNewScale", "ScaleDownStabilized", "ReadyForNewScale"] == [seen[i][1] for i in (0, 6, 7)]


def test_windows_of_a_behavior() -> None:
    """Up: the lowest of the last two minutes. Down: the highest of the last minute."""
    behavior = {
        "scaleUp": rules(("Percent", 900, 15), window=120),
        "scaleDown": rules(("Percent", 100, 15), window=60),
    }

    seen = run({"behavior": behavior}, [8, 8, 8, 8, 2, 2], current=1, every_seconds=50)

    ready, up, down = "ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized"
    assert [(1, up), (1, up), (1, up), (8, ready), (8, down), (2, ready)] == seen


@pytest.mark.parametrize(
    ("up", "expected"),
    [
        (rules(("Pods", 2, 60)), [3, 3, 5, 5, 7]),
        (rules(("Percent", 100, 60)), [2, 2, 4, 4, 8]),
        (rules(("Pods", 2, 60), ("Percent", 100, 60)), [3, 3, 6, 6, 10]),
        (rules(("Pods", 2, 60), ("Percent", 100, 60), select="Min"), [2, 2, 4, 4, 6]),
        (rules(("Pods", 2, 60), select="Disabled"), [1, 1, 1, 1, 1]),
    ],
)
def test_policies_of_going_up(up: Object, expected: list[int]) -> None:
    """So many, or such a share, in a period; the policy that allows most counts, or least if it is told so."""
    behavior = {"scaleUp": up, "scaleDown": rules(("Percent", 100, 15))}

    seen = run({"behavior": behavior}, [50] * 5, current=1, every_seconds=30)

    assert expected == [replicas for replicas, _ in seen]


@pytest.mark.parametrize(
    ("down", "expected"),
    [
        (rules(("Pods", 2, 60)), [8, 8, 6, 6, 4]),
        (rules(("Percent", 25, 60)), [7, 7, 5, 5, 3]),
        (rules(("Pods", 2, 60), ("Percent", 50, 60)), [5, 5, 2, 2, 1]),
        (rules(("Pods", 2, 60), ("Percent", 50, 60), select="Min"), [8, 8, 6, 6, 4]),
        (rules(("Pods", 2, 60), select="Disabled"), [10, 10, 10, 10, 10]),
    ],
)
def test_policies_of_going_down(down: Object, expected: list[int]) -> None:
    """A share is rounded so that something goes."""
    behavior = {"scaleUp": rules(("Pods", 4, 15)), "scaleDown": down}

    seen = run({"behavior": behavior}, [1] * 5, current=10, every_seconds=30)

    assert expected == [replicas for replicas, _ in seen]


@pytest.mark.parametrize(
    ("current", "desired", "expected"),
    [
        (2, 9, ("ScaleUpLimit", True)),
        (9, 20, ("TooManyReplicas", True)),
        (9, 1, ("ScaleDownLimit", True)),
        (2, 0, ("TooFewReplicas", True)),
        (4, 5, ("DesiredWithinRange", False)),
    ],
)
def test_what_limits_is_said(current: int, desired: int, expected: tuple[str, bool]) -> None:
    """The pace of the policies, or the limits of the autoscaler."""
    behavior = {"scaleUp": rules(("Pods", 2, 60)), "scaleDown": rules(("Pods", 2, 60))}

    paced = pace(a_spec(behavior=behavior), Memory(), current, desired, NOW)

    assert expected == (paced.limited[0], paced.is_limited)
