"""How long failed pods are waited for, and when a pod ended."""

from datetime import timedelta

import pytest

from controllers.job.backoff import Failures
from controllers.job.finish_times import finished_at
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.jobs import a_job_pod
from tests.unit.controllers.workloads import NOW, seconds_ago


def failed(ended: float) -> Object:
    return a_job_pod("f", "Failed", code=1, ended=ended)


def succeeded(ended: float) -> Object:
    return a_job_pod("s", "Succeeded", ended=ended)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (2000, 600)]
)
def test_the_wait_doubles_up_to_ten_minutes(count: int, expected: float) -> None:
    """10 s after one failure, never more than 600 s."""
    assert expected == Failures(count, NOW if count else None).seconds_left(NOW)


def test_time_since_the_failure_counts() -> None:
    """What has passed needs not be waited for, and nothing is left once all has passed."""
    record = Failures(2, NOW)

    assert (5, 0) == (
        record.seconds_left(NOW + timedelta(seconds=15)),
        record.seconds_left(NOW + timedelta(seconds=21)),
    )


@pytest.mark.parametrize(
    ("before", "succeeded_pods", "failed_pods", "count", "latest"),
    [
        (Failures(), [], [], 0, None),
        (Failures(3, NOW), [], [], 3, 0),
        (Failures(1, NOW), [], [failed(9), failed(7)], 3, 7),
        (Failures(3, NOW), [succeeded(5)], [], 0, None),
        (Failures(3, NOW), [succeeded(5)], [failed(9), failed(3), failed(2)], 2, 2),
        (Failures(3, NOW), [succeeded(1)], [failed(9)], 0, None),
    ],
)
def test_a_success_forgives_the_failures_before_it(
    before: Failures, succeeded_pods: list[Object], failed_pods: list[Object], count: int, latest: float | None
) -> None:
    """Only failures that are later than the last success count."""
    expected = Failures(count, None if latest is None else NOW - timedelta(seconds=latest))

    assert expected == before.after(succeeded_pods, failed_pods)


def test_a_pod_ended_when_somebody_noted_it() -> None:
    """Its last container, or not being ready any more, or the deletion, or nothing but its creation."""
    running = a_job_pod("p", "Failed", ready=None)
    not_ready = a_job_pod("p", "Failed", ready=None)
    not_ready["status"]["conditions"][0]["lastTransitionTime"] = seconds_ago(20)
    deleted = a_job_pod("p", "Failed", ready=None, deleted=True)
    deleted["metadata"]["deletionGracePeriodSeconds"] = 30
    sidecar = a_job_pod("p", "Failed", ended=9, spec={"initContainers": [{"name": "s", "restartPolicy": "Always"}]})
    end = {"name": "s", "state": {"terminated": {"finishedAt": seconds_ago(4)}}}
    sidecar["status"]["initContainerStatuses"] = [end, {"name": "init", "state": {}}]

    ages = [(NOW - finished_at(pod)).total_seconds() for pod in (failed(7), sidecar, not_ready, deleted, running)]

    assert [7, 4, 20, 31, 60] == ages
