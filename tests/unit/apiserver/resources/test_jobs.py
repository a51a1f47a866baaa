"""Jobs and CronJobs: generated selectors, schedules, index lists, and what may change."""

from __future__ import annotations

import pytest

from apiserver.resources.batch.index_intervals import IntervalError, count_indexes, first_overlap
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import UID, KindOnTrial

JOBS = KindOnTrial("batch/v1", "Job")
CRON_JOBS = KindOnTrial("batch/v1", "CronJob")

POD_SPEC: Object = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "n:1"}]}
GENERATED = {
    "batch.kubernetes.io/controller-uid": UID,
    "batch.kubernetes.io/job-name": "a",
    "controller-uid": UID,
    "job-name": "a",
}


def job(**spec: object) -> Object:
    return {"spec": {"template": {"spec": POD_SPEC}, **spec}}


def cron_job(**spec: object) -> Object:
    return {"spec": {"schedule": "*/5 * * * *", "jobTemplate": job(), **spec}}


def test_a_job_gets_its_defaults() -> None:
    """A Job runs one pod once and is tried again six times."""
    created = JOBS.created(job())["spec"]

    actual = {name: value for name, value in created.items() if name not in ("selector", "template")}

    expected = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "manualSelector": False,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert expected == actual


def test_a_job_selects_its_own_pods() -> None:
    """Selector and template labels name the Job by its uid; a Job without labels has the template's."""
    created = JOBS.created(job())

    actual = (
        created["spec"]["selector"]["matchLabels"],
        created["spec"]["template"]["metadata"]["labels"],
        created["metadata"]["labels"],
    )

    assert ({"batch.kubernetes.io/controller-uid": UID}, GENERATED, GENERATED) == actual


def test_labels_of_its_own_are_all_a_job_has() -> None:
    """Generated labels go to the pods only where the Job has labels itself."""
    created = JOBS.created({**job(), "metadata": {"labels": {"app": "w"}}})

    actual = created["metadata"]["labels"]

    assert {"app": "w"} == actual


def test_the_pods_of_a_job_end() -> None:
    """A template whose pods are always restarted is refused."""
    body = job(template={"spec": {**POD_SPEC, "restartPolicy": "Always"}})

    actual = JOBS.create_errors(body)

    assert ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'] == actual


def test_completions_of_an_unindexed_job_stay() -> None:
    """Only an indexed Job can be made larger."""
    old = JOBS.created(job())

    actual = JOBS.change_errors(old, {"spec": {"completions": 3}})

    assert ["spec.completions: Invalid value: 3: field is immutable"] == actual


def test_parallelism_and_suspension_may_change() -> None:
    """How many pods run at a time is free to change, down to none."""
    old = JOBS.created(job())

    actual = JOBS.change_errors(old, {"spec": {"parallelism": 3, "suspend": True}})

    assert [] == actual


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("0", 1), ("0-2", 3), ("1,3-4,6", 4)], ids=["none", "one", "range", "mixed"]
)
def test_index_lists_are_counted(text: str, count: int) -> None:
    """Single indexes and ranges add up."""
    actual = count_indexes(text, 10)

    assert count == actual


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2-1", "non-increasing order, previous: 2, current: 1"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("10", 'too large index: "10"'),
        (
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts '
            "separated by '-'",
        ),
    ],
)
def test_bad_index_lists_are_explained(text: str, reason: str) -> None:
    """Why a list of indexes is not understood is said in the real server's words."""
    with pytest.raises(IntervalError) as refused:
        count_indexes(text, 10)

    assert reason == str(refused.value)


@pytest.mark.parametrize(
    ("completed", "failed", "overlap"),
    [("0-2,5", "3,5-6", 5), ("0-2", "1", 1), ("0,2", "1,3", None), ("0,99", "0", 0), ("", "1", None)],
)
def test_an_index_is_done_or_failed(completed: str, failed: str, overlap: int | None) -> None:
    """The first index in both lists is found, whatever else is wrong with them."""
    assert overlap == first_overlap(completed, failed, 10)


def test_a_cron_job_gets_its_defaults() -> None:
    """Runs may overlap, three good and one failed are kept; the template gets none of a Job's own defaults."""
    created = CRON_JOBS.created(cron_job())["spec"]

    actual = {name: value for name, value in created.items() if name != "jobTemplate"}

    expected = {
        "schedule": "*/5 * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    assert expected == actual
    assert "backoffLimit" not in created["jobTemplate"]["spec"]


def test_a_bad_schedule_is_refused() -> None:
    """A CronJob's schedule is checked when it is written."""
    actual = CRON_JOBS.create_errors(cron_job(schedule="often"))

    assert ['spec.schedule: Invalid value: "often": expected exactly 5 fields, found 1: [often]'] == actual


@pytest.mark.parametrize(
    ("status", "refusals"),
    [
        ({"active": 1, "ready": 2}, ["status.ready: Invalid value: 2: cannot set more ready pods than active"]),
        ({"active": 2, "ready": 2}, []),
        ({"terminating": 1}, []),
        (
            {
                "startTime": "2026-01-01T00:00:00Z",
                "terminating": 1,
                "conditions": [{"type": kind, "status": "True"} for kind in ("FailureTarget", "Failed")],
            },
            ["status.terminating: Invalid value: 1: terminating>0 is invalid for finished job"],
        ),
    ],
    ids=["too many ready", "as many ready", "ending", "ended and ending"],
)
def test_the_pods_of_a_status_add_up(status: Object, refusals: list[str]) -> None:
    """No more pods are ready than active, and none still ends once the Job is finished."""
    old = JOBS.created(job())

    assert refusals == JOBS.change_errors(old, {"status": status}, "status")


def test_an_old_job_may_lack_the_prefixed_labels() -> None:
    """A Job from before the labels had a prefix keeps going without them."""
    old = JOBS.created(job())
    labels = old["spec"]["template"]["metadata"]["labels"]
    without = {name: value for name, value in labels.items() if "/" not in name}
    old["spec"]["template"]["metadata"]["labels"] = without
    old["spec"]["selector"] = {"matchLabels": {"controller-uid": without["controller-uid"]}}

    actual = JOBS.change_errors(old, {"spec": {**old["spec"], "parallelism": 3}})

    assert [] == actual
