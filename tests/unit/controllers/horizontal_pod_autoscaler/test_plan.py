"""What an autoscaler decides, and says."""

import pytest

from controllers.horizontal_pod_autoscaler import plan
from controllers.horizontal_pod_autoscaler.pace import Memory
from controllers.horizontal_pod_autoscaler.plan import Measured, Unmeasured
from tests.unit.controllers.autoscalers import a_spec, an_autoscaler
from tests.unit.controllers.workloads import NOW

FAILED = Unmeasured("FailedGetResourceMetric", "why", "told")


def calls_for(replicas: int) -> Measured:
    return Measured(replicas, f"m{replicas}", {"type": "Resource"})


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (0, (0, "")),
        (1, (2, "Current number of replicas below Spec.MinReplicas")),
        (2, None),
        (5, None),
        (6, (5, "Current number of replicas above Spec.MaxReplicas")),
    ],
)
def test_limits_need_no_metrics(current: int, expected: tuple[int, str] | None) -> None:
    """A target at zero is left alone; one beyond the limits is brought to them."""
    decision = plan.within_limits(a_spec(minReplicas=2, maxReplicas=5), current)

    assert expected == (decision and (decision.replicas, decision.reason))


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([calls_for(2), calls_for(5), calls_for(3)], (5, "")),
        ([FAILED, calls_for(5)], (5, "invalid metrics (1 invalid out of 2), first error is: told")),
        ([FAILED, calls_for(3)], (3, "invalid metrics (1 invalid out of 2), first error is: told")),
        ([FAILED, calls_for(2)], (None, "invalid metrics (1 invalid out of 2), first error is: told")),
        ([FAILED, FAILED], (None, "invalid metrics (2 invalid out of 2), first error is: told")),
        ([calls_for(0)], (0, "")),
    ],
)
def test_the_highest_of_all_metrics(results: list[Measured | Unmeasured], expected: tuple[int | None, str]) -> None:
    """Where one is unknown, the others may only scale up."""
    summary = plan.summarize(results, current=3)

    assert expected == (summary.highest and summary.highest.replicas, summary.error)


def test_an_unknown_metric_is_said() -> None:
    """As ScalingActive, with an empty entry among the current metrics."""
    summary = plan.summarize([calls_for(1), FAILED], current=3)

    assert (False, "FailedGetResourceMetric") == (summary.condition.is_true, summary.condition.reason)
    assert "the HPA was unable to compute the replica count: why" == summary.condition.message
    assert [{"type": "Resource"}, {"type": ""}] == summary.statuses


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [(3, 5, (5, "m5 above target")), (3, 3, (3, "")), (3, 2, (3, "All metrics below target"))],
)
def test_why_the_target_is_rescaled(current: int, wanted: int, expected: tuple[int, str]) -> None:
    """The metric that called for it; down only after five minutes."""
    memory = Memory()
    memory.begin(current, NOW)

    decision = plan.by_metrics(a_spec(), memory, current, calls_for(wanted), NOW)

    assert expected == (decision.replicas, decision.reason)
    assert [plan.ABLE, plan.LIMITED] == [said.type for said in decision.conditions]


def test_a_status_that_says_the_same_is_not_written() -> None:
    """Zero and nothing are no difference."""
    autoscaler = {**an_autoscaler(), "status": {"desiredReplicas": 0, "currentMetrics": None}}

    status = plan.status(autoscaler, 0, None, None)

    assert not plan.differs(autoscaler, {**status, "conditions": []})
    assert plan.differs(autoscaler, plan.status(autoscaler, 1, None, None))
