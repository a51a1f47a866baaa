"""The Jobs a CronJob knows of."""

import pytest

from controllers.cron_job import active
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.cron_jobs import a_cron_job, a_run
from tests.unit.controllers.workloads import seconds_ago

RUNS = [
    a_run("running"),
    a_run("c2", "Complete", started=20, completed=10),
    a_run("c1", "Complete", started=30, completed=5),
    a_run("c3", "Complete", started=20, completed=15),
    a_run("f1", "Failed", started=40),
    a_run("f2", "Failed"),
]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, []),
        ({"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 2}, []),
        ({"successfulJobsHistoryLimit": 1}, ["c1", "c2"]),
        ({"failedJobsHistoryLimit": 1}, ["f1"]),
        ({"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}, ["c1", "c2", "c3", "f1", "f2"]),
    ],
)
def test_the_oldest_finished_runs_go(limits: Object, expected: list[str]) -> None:
    """Successes and failures have limits of their own; equal starts go by name, none at all last."""
    assert expected == [name_of(job) for job in active.superfluous(a_cron_job(**limits), RUNS)]


def test_running_and_ended_jobs_are_told_apart() -> None:
    """Unfinished Jobs that the list lacks, listed ones that have ended."""
    status = a_cron_job(active=["c1", "f1", "gone"])["status"]

    assert (["running"], ["c1", "f1"]) == (
        [name_of(job) for job in active.strangers(status, RUNS)],
        [name_of(job) for job in active.seen_ending(status, RUNS)],
    )


@pytest.mark.parametrize(("stored", "expected"), [(None, 5), (50, 5), (2, 2)])
def test_the_last_success_never_goes_back(stored: float | None, expected: float) -> None:
    """The latest completion of any Job that is still there, if later than what is known."""
    status = {} if stored is None else {"lastSuccessfulTime": seconds_ago(stored)}

    assert seconds_ago(expected) == active.with_last_success(status, RUNS)["lastSuccessfulTime"]
