"""Finished Jobs go after a while."""

from typing import Any

import pytest

from controllers import job, ttl_after_finished
from controllers.ttl_after_finished import seconds_left
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import JOBS
from kubeloop.testing.builders import a_job
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import jobs
from tests.unit.controllers.workloads import NOW, seconds_ago

LOOPS = {
    "ttl": a_loop(ttl_after_finished.add_to),
    "job": a_loop(job.add_to),
    "endings": a_loop(jobs.runs_to_end(lambda pod: "Succeeded")),
}


def finished(type_: str, status: str = "True") -> Object:
    return {"conditions": [{"type": type_, "status": status, "lastTransitionTime": seconds_ago(10)}]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": finished("Complete"), "ttlSecondsAfterFinished": 60}, 50),
        ({"status": finished("Failed"), "ttlSecondsAfterFinished": 0}, -10),
        ({"status": finished("Complete")}, None),
        ({"status": finished("Complete", "False"), "ttlSecondsAfterFinished": 60}, None),
        ({"status": finished("Suspended"), "ttlSecondsAfterFinished": 60}, None),
        ({"status": finished("Complete"), "ttlSecondsAfterFinished": 60, "deleted": True}, None),
    ],
)
def test_time_runs_from_the_end_of_a_job(fields: dict[str, Any], expected: float | None) -> None:
    """Complete or Failed; without a limit, unfinished or on its way out a Job is none of this loop's business."""
    assert expected == seconds_left(jobs.a_job(**fields), NOW)


def test_a_finished_job_goes_in_time() -> None:
    """Not before its time, which may be changed meanwhile; then with its pods."""

    async def check(cluster: Cluster) -> tuple[int, Object]:
        made = await cluster.create(a_job("work").spec(ttlSecondsAfterFinished=20))
        await cluster.clock.sleep(10)
        await cluster.patch(made, {"spec": {"ttlSecondsAfterFinished": 300}})
        await cluster.clock.sleep(100)
        kept = len(await cluster.list(JOBS))
        await cluster.clock.sleep(250)
        return kept, await cluster.read(made)

    kept, gone = run_cluster(check, processes=LOOPS)

    assert (1, ["foregroundDeletion"]) == (kept, gone["metadata"]["finalizers"])
