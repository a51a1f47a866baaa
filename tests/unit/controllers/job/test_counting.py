"""Each pod that ended is counted once, in three steps."""

from typing import Any

import pytest

from controllers.job import conditions, counting
from controllers.job.plan import Conclusion
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.jobs import a_job, a_job_pod, a_view, an_indexed_job
from tests.unit.controllers.workloads import NOW

TARGET = conditions.new(conditions.FAILURE_TARGET, "R", "m", NOW)
MET = conditions.new(conditions.SUCCESS_CRITERIA_MET, "R", "m", NOW)
IGNORE_3 = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}]}


def counted(job: Object, *pods: Object, verdict: Object | None = None, **view: Any) -> counting.Count:
    return counting.count(a_view(job, *pods, **view), Conclusion({**job["status"]}, verdict, 0))


def noted(count: counting.Count) -> tuple[Any, str]:
    return count.status["uncountedTerminatedPods"], "".join(sorted(name_of(pod) for pod in count.release))


@pytest.mark.parametrize(
    ("job", "pods", "verdict", "uncounted", "released"),
    [
        (a_job(), [a_job_pod("a")], None, {}, ""),
        (a_job(), [a_job_pod("a", "Succeeded")], None, {"succeeded": ["a"]}, "a"),
        (a_job(), [a_job_pod("a", "Failed")], None, {"failed": ["a"]}, "a"),
        (a_job(), [a_job_pod("a", "Failed", tracked=False)], None, {}, ""),
        (a_job(), [a_job_pod("a", deleted=True)], None, {"failed": ["a"]}, "a"),
        (a_job(podReplacementPolicy="Failed"), [a_job_pod("a", deleted=True)], None, {}, ""),
        (a_job(), [a_job_pod("a", "Succeeded", deleted=True)], None, {"succeeded": ["a"]}, "a"),
        (a_job(podFailurePolicy=IGNORE_3), [a_job_pod("a", "Failed", code=3)], None, {}, "a"),
        (a_job(), [a_job_pod("a"), a_job_pod("b", "Succeeded")], TARGET, {"failed": ["a"], "succeeded": ["b"]}, "ab"),
        (a_job(), [a_job_pod("a")], MET, {}, "a"),
        (a_job(deleted=True), [a_job_pod("a")], None, {}, "a"),
        (an_indexed_job(2), [a_job_pod("a", "Succeeded", index=1)], None, {}, "a"),
        (an_indexed_job(2), [a_job_pod("a", "Failed", index=1)], None, {"failed": ["a"]}, "a"),
        (an_indexed_job(2), [a_job_pod("a", "Failed", index=7)], None, {}, "a"),
        (an_indexed_job(2, backoffLimitPerIndex=2), [a_job_pod("a", "Failed", index=1)], None, {}, ""),
        (an_indexed_job(2, backoffLimitPerIndex=0), [a_job_pod("a", "Failed", index=1)], None, {"failed": ["a"]}, "a"),
    ],
)
def test_pods_that_ended_are_noted_and_let_go(
    job: Object, pods: list[Object], verdict: Object | None, uncounted: Any, released: str
) -> None:
    """As succeeded or failed; a failed pod whose index runs again waits for its replacement."""
    assert (uncounted, released) == noted(counted(job, *pods, verdict=verdict))


def test_a_pod_is_noted_once() -> None:
    """One that the status has is not added again; one whose finalizer we took off is not looked at."""
    job = a_job(status={"uncountedTerminatedPods": {"failed": ["a"]}})
    pods = [a_job_pod("a", "Failed"), a_job_pod("b", "Failed")]

    count = counted(job, *pods, released=frozenset({"b"}))

    assert ({"failed": ["a"]}, "a") == noted(count)


def test_pods_without_their_finalizer_become_counts() -> None:
    """Whether we took it off or somebody else did, and also when the pod is gone."""
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"], "failed": ["c"]}}

    after = counting.without_released(status, {"b"})

    assert {"succeeded": 2, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["b"]}} == after


def test_indexes_are_counted_from_the_pods() -> None:
    """completedIndexes and succeeded go together; failedIndexes is there with backoffLimitPerIndex, if empty."""
    job = an_indexed_job(5, backoffLimitPerIndex=1, status={"completedIndexes": "0,2", "succeeded": 2})

    status = counted(job, a_job_pod("a", "Succeeded", index=1), a_job_pod("b", "Succeeded", index=1)).status

    assert ("0-2", 3, "") == (status["completedIndexes"], status["succeeded"], status["failedIndexes"])


def test_a_great_many_pods_are_counted_in_turns() -> None:
    """500 at once, and the Job does not end before the last."""
    pods = [a_job_pod(str(i), "Succeeded") for i in range(600)]

    count = counted(a_job(completions=600, parallelism=600), *pods, verdict=MET)

    assert (500, 500, None) == (
        len(count.release),
        len(count.status["uncountedTerminatedPods"]["succeeded"]),
        count.final,
    )


@pytest.mark.parametrize(
    ("verdict", "announced", "final"),
    [(TARGET, ["FailureTarget"], "Failed"), (MET, ["SuccessCriteriaMet"], "Complete")],
)
def test_the_end_is_announced_before_it_comes(verdict: Object, announced: list[str], final: str) -> None:
    """First what is certain, then with the same reason that it has come about."""
    count = counted(a_job(), verdict=verdict)

    assert count.final is not None
    assert (announced, final, "R") == (
        [condition["type"] for condition in count.status["conditions"]],
        count.final["type"],
        count.final["reason"],
    )
    ended = counting.ended(count.status, count.final)
    assert (final == "Complete", [*announced, final]) == (
        "completionTime" in ended,
        [condition["type"] for condition in ended["conditions"]],
    )


@pytest.mark.parametrize(
    ("uncounted", "terminating", "expected"), [({}, 0, True), ({"failed": ["a"]}, 0, False), ({}, 1, False)]
)
def test_a_job_ends_with_its_last_pod(uncounted: Object, terminating: int, expected: bool) -> None:
    """Not before every pod is counted and none is on its way out."""
    assert expected == counting.may_end({"uncountedTerminatedPods": uncounted}, terminating)
