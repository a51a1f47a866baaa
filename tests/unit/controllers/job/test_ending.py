"""Whether a Job is to end, and why."""

from typing import Any

import pytest

from controllers.job import ending
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.jobs import a_job, a_job_pod, a_view, an_indexed_job
from tests.unit.controllers.workloads import a_template, seconds_ago

SUCCESS = {"completionMode": "Indexed", "completions": 5}
FAIL_ON_42 = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
MET = {"type": "SuccessCriteriaMet", "status": "True", "reason": "SuccessPolicy", "message": "m"}
TARGET = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "m"}
ON_FAILURE = a_template(restartPolicy="OnFailure")


def restarted(times: int) -> Object:
    return a_job_pod("p", status={"containerStatuses": [{"name": "c", "restartCount": times}]})


@pytest.mark.parametrize(
    ("job", "pods", "expected"),
    [
        (a_job(), [a_job_pod("p")], None),
        (a_job(backoffLimit=0), [a_job_pod("p", "Failed")], ("FailureTarget", "BackoffLimitExceeded")),
        (a_job(backoffLimit=1), [a_job_pod("p", "Failed")], None),
        (
            a_job(backoffLimit=1, status={"failed": 1}),
            [a_job_pod("p", deleted=True)],
            ("FailureTarget", "BackoffLimitExceeded"),
        ),
        (a_job(backoffLimit=0, podReplacementPolicy="Failed"), [a_job_pod("p", deleted=True)], None),
        (a_job(backoffLimit=0), [a_job_pod("p", "Failed", tracked=False)], None),
        (a_job(backoffLimit=0, template=ON_FAILURE), [restarted(1)], ("FailureTarget", "BackoffLimitExceeded")),
        (a_job(backoffLimit=2, template=ON_FAILURE), [restarted(1)], None),
        (a_job(backoffLimit=2, template=ON_FAILURE), [restarted(2)], ("FailureTarget", "BackoffLimitExceeded")),
        (a_job(backoffLimit=2), [restarted(9)], None),
        (
            a_job(podFailurePolicy=FAIL_ON_42),
            [a_job_pod("p", "Failed", code=42)],
            ("FailureTarget", "PodFailurePolicy"),
        ),
        (a_job(podFailurePolicy=FAIL_ON_42), [a_job_pod("p", "Failed", code=1)], None),
        (
            a_job(activeDeadlineSeconds=5, status={"startTime": seconds_ago(5)}),
            [],
            ("FailureTarget", "DeadlineExceeded"),
        ),
        (a_job(activeDeadlineSeconds=5, status={"startTime": seconds_ago(4)}), [], None),
        (a_job(activeDeadlineSeconds=5), [], None),
        (a_job(activeDeadlineSeconds=5, suspend=True, status={"startTime": seconds_ago(9)}), [], None),
        (a_job(backoffLimit=0, status={"conditions": [MET], "failed": 3}), [], ("SuccessCriteriaMet", "SuccessPolicy")),
        (a_job(backoffLimit=0, status={"conditions": [TARGET], "failed": 3}), [], ("Failed", "DeadlineExceeded")),
        (
            an_indexed_job(3, backoffLimitPerIndex=1, maxFailedIndexes=0, backoffLimit=99),
            [a_job_pod("p", "Failed", index=1, failures=1)],
            ("FailureTarget", "MaxFailedIndexesExceeded"),
        ),
        (
            an_indexed_job(3, backoffLimitPerIndex=1, maxFailedIndexes=0, backoffLimit=99),
            [a_job_pod("p", "Failed", index=1, failures=0)],
            None,
        ),
        (
            an_indexed_job(3, backoffLimitPerIndex=0, backoffLimit=99, status={"completedIndexes": "0,2"}),
            [a_job_pod("p", "Failed", index=1)],
            ("FailureTarget", "FailedIndexes"),
        ),
        (
            an_indexed_job(3, backoffLimitPerIndex=0, backoffLimit=99, status={"completedIndexes": "0"}),
            [a_job_pod("p", "Failed", index=1)],
            None,
        ),
    ],
)
def test_the_reasons_to_end(job: Object, pods: list[Object], expected: tuple[str, str] | None) -> None:
    """What was decided before stands; then policy, limits and indexes."""
    verdict = ending.verdict(a_view(job, *pods))

    assert expected == (verdict and (verdict["type"], verdict["reason"]))


@pytest.mark.parametrize(
    ("rules", "completed", "message"),
    [
        ([{"succeededIndexes": "0,1"}], "0,1", "Matched rules at index 0"),
        ([{"succeededIndexes": "0-2"}], "0,1", None),
        ([{"succeededIndexes": "0-3", "succeededCount": 2}], "1,3,4", "Matched rules at index 0"),
        ([{"succeededIndexes": "0-3", "succeededCount": 2}], "1,4", None),
        ([{"succeededCount": 4}, {"succeededCount": 2}], "1,4", "Matched rules at index 1"),
        ([{"succeededCount": 3}], "1,4", None),
        ([{"succeededIndexes": "9"}], "1", None),
        ([{"succeededCount": 1}], "", None),
    ],
)
def test_a_success_policy_ends_a_job_early(rules: list[Any], completed: str, message: str | None) -> None:
    """As soon as one rule has all its indexes, or as many as it asks for."""
    job = an_indexed_job(5, successPolicy={"rules": rules}, status={"completedIndexes": completed})

    verdict = ending.verdict(a_view(job))

    assert message == (verdict and verdict["message"])


@pytest.mark.parametrize(
    ("completions", "succeeded", "active", "is_complete"),
    [(2, 2, 0, True), (2, 2, 1, False), (2, 1, 0, False), (0, 0, 0, True), (None, 1, 0, True), (None, 0, 0, False)],
)
def test_enough_successes_complete_a_job(
    completions: int | None, succeeded: int, active: int, is_complete: bool
) -> None:
    """As many as asked for, or without completions a single one, and nothing that still runs."""
    view = a_view(a_job(completions=completions, status={"succeeded": succeeded}))

    condition = ending.completion(view, active)

    assert is_complete == (condition is not None)
