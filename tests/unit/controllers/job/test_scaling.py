"""Which pods a Job makes and takes away."""

from typing import Any

import pytest

from controllers.job import scaling
from controllers.job.backoff import Failures
from controllers.job.scaling import Scaling
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.jobs import FAILURES, INDEX, a_job, a_job_pod, a_view, an_indexed_job
from tests.unit.controllers.workloads import NOW, a_template


def planned(job: Object, *pods: Object, failures: Failures | None = None) -> Scaling:
    return scaling.plan(a_view(job, *pods), failures or Failures())


def indexes(decided: Scaling) -> list[str]:
    return [pod["metadata"]["annotations"][INDEX] for pod in decided.create]


@pytest.mark.parametrize(
    ("job", "pods", "created", "deleted"),
    [
        (a_job(parallelism=2, completions=5), [], 2, 0),
        (a_job(parallelism=9, completions=5), [a_job_pod("a")], 4, 0),
        (a_job(parallelism=9, completions=5, status={"succeeded": 3}), [a_job_pod("a", "Succeeded")], 1, 0),
        (
            a_job(parallelism=9, completions=5, status={"succeeded": 3}),
            [a_job_pod("a", "Succeeded", tracked=False)],
            2,
            0,
        ),
        (a_job(parallelism=3, completions=None), [a_job_pod("a")], 2, 0),
        (a_job(parallelism=3, completions=None), [a_job_pod("a"), a_job_pod("b", "Succeeded")], 0, 0),
        (a_job(parallelism=1, completions=5), [a_job_pod("a"), a_job_pod("b")], 0, 1),
        (a_job(parallelism=0, completions=5), [a_job_pod("a"), a_job_pod("b")], 0, 2),
        (a_job(parallelism=2, completions=2, suspend=True), [a_job_pod("a"), a_job_pod("b")], 0, 2),
        (a_job(parallelism=2, completions=2), [a_job_pod("a"), a_job_pod("b", deleted=True)], 1, 0),
        (a_job(parallelism=2, completions=2, podReplacementPolicy="Failed"), [a_job_pod("b", deleted=True)], 1, 0),
        (a_job(parallelism=1200, completions=1200), [], 500, 0),
        (a_job(parallelism=0), [a_job_pod(str(i)) for i in range(501)], 0, 500),
    ],
)
def test_as_many_pods_as_are_needed(job: Object, pods: list[Object], created: int, deleted: int) -> None:
    """No more than parallelism allows or completions still need, 500 at once at most."""
    decided = planned(job, *pods)

    assert (created, deleted) == (len(decided.create), len(decided.delete))


@pytest.mark.parametrize(("seconds", "expected"), [(0, 10), (9.5, 1), (11, None)])
def test_a_failure_is_waited_for(seconds: float, expected: float | None) -> None:
    """Nothing is made before the back-off is over, and it is looked at again then, after a second at least."""
    decided = scaling.plan(a_view(a_job()), Failures(1, NOW.fromtimestamp(NOW.timestamp() - seconds, NOW.tzinfo)))

    assert (expected, expected is None) == (decided.wait_seconds, len(decided.create) == 1)


@pytest.mark.parametrize(
    ("spec", "pods", "expected"),
    [
        ({}, [], "0123"),
        ({"parallelism": 2}, [a_job_pod("a", index=1)], "0"),
        ({"status": {"completedIndexes": "0,2"}}, [], "13"),
        ({}, [a_job_pod("a", "Succeeded", index=3)], "012"),
        ({}, [a_job_pod("a", index=0, deleted=True)], "0123"),
        ({"podReplacementPolicy": "Failed"}, [a_job_pod("a", index=0, deleted=True)], "123"),
        ({"backoffLimitPerIndex": 0, "status": {"failedIndexes": "0-1"}}, [], "23"),
    ],
)
def test_the_lowest_free_indexes_come_first(spec: dict[str, Any], pods: list[Object], expected: str) -> None:
    """Indexes that are worked on, done or given up are left out."""
    assert list(expected) == indexes(planned(an_indexed_job(4, **spec), *pods))


def test_each_index_waits_for_itself_alone() -> None:
    """With backoffLimitPerIndex others go on; the new pod takes the failures of the old one over."""
    job = an_indexed_job(3, backoffLimitPerIndex=5)
    late = a_job_pod("late", "Failed", index=0, failures=1, ended=25)
    fresh = a_job_pod("fresh", "Failed", index=1, failures=0, ended=2)
    third = a_job_pod("third", index=2)

    made = planned(job, late, fresh, third)
    waiting = planned(job, fresh, third, a_job_pod("again", index=0, failures=2))

    assert (["0"], "2") == (indexes(made), made.create[0]["metadata"]["annotations"][FAILURES])
    assert (8, ()) == (waiting.wait_seconds, waiting.create)


def test_failures_that_are_ignored_delay_but_do_not_count() -> None:
    """They have an annotation of their own."""
    policy = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}]}
    job = an_indexed_job(1, backoffLimitPerIndex=1, podFailurePolicy=policy)

    (pod,) = planned(job, a_job_pod("p", "Failed", index=0, failures=1, code=3, ended=500)).create

    ignored = "batch.kubernetes.io/job-index-ignored-failure-count"
    assert {INDEX: "0", FAILURES: "1", ignored: "1"} == pod["metadata"]["annotations"]


def test_an_indexed_pod_knows_its_index() -> None:
    """By name, host name, label, annotation and environment; a variable that is set already is left alone."""
    template = a_template()
    template["spec"]["containers"].append({"name": "d", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]})
    job = an_indexed_job(1, template=template)
    job["metadata"]["name"] = "j" * 60

    (pod,) = planned(job).create

    assert f"{'j' * 55}-0-" == pod["metadata"]["generateName"]
    assert (f"{'j' * 60}-0", "0", "0") == (
        pod["spec"]["hostname"],
        pod["metadata"]["labels"][INDEX],
        pod["metadata"]["annotations"][INDEX],
    )
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variables = [container["env"] for container in pod["spec"]["containers"]]
    assert [{"name": "JOB_COMPLETION_INDEX", "valueFrom": field}] == variables[0]
    assert [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}] == variables[1]
    assert "env" not in job["spec"]["template"]["spec"]["containers"][0]


def test_a_plain_pod_is_the_template() -> None:
    """With the tracking finalizer, the Job as its controller and a generated name."""
    job = a_job(template={**a_template(), "metadata": {"finalizers": ["example.com/hold"]}})

    (pod,) = planned(job).create

    assert ["example.com/hold", "batch.kubernetes.io/job-tracking"] == pod["metadata"]["finalizers"]
    assert ("job-", "Job") == (pod["metadata"]["generateName"], pod["metadata"]["ownerReferences"][0]["kind"])


def test_the_youngest_of_two_surplus_pods_goes() -> None:
    """Which pods go is the choice of victims."""
    decided = planned(a_job(), a_job_pod("old", ready=50), a_job_pod("young", ready=5))

    assert ["young"] == [name_of(pod) for pod in decided.delete]
