"""Jobs that succeed, fail, are suspended and cleaned up; CronJobs that start each of them once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, controller_of, labels_of
from kubeloop.apimachinery.resource import CRON_JOBS, JOBS
from kubeloop.testing.builders import a_cron_job, a_job
from kubeloop.testing.cluster import Cluster, Process, a_loop
from kubeloop.testing.faults import LoseAnswers, StaleLists
from kubeloop.testing.scenario import Law, Live, Scenario, at_most
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone, until_status
from tests.unit.controllers.jobs import runs_to_end

# A Job counts what it ran. A loop that comes to life with a list from before its pods, or hears that a pod could not be
# made that was made, runs one more, as upstream's does: names of pods are made up by the server.
COUNTING = (StaleLists, LoseAnswers)
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def outcome(pod: ReadOnlyObject) -> str:
    """By the Job's name: `bad` fails, `slow` runs on, all others succeed."""
    name = labels_of(pod).get("job-name", "")
    return {"bad": "Failed", "slow": ""}.get(name, "Succeeded")


def with_endings(*names: str) -> Mapping[str, Process]:
    return {**processes(*names), "endings": a_loop(runs_to_end(outcome))}


async def all_sorts(cluster: Cluster) -> None:
    indexed = a_job("indexed").spec(completions=4, parallelism=2, completionMode="Indexed")
    many = a_job("many").spec(completions=5, parallelism=3)
    bad = a_job("bad").spec(backoffLimit=1)
    made = [await cluster.create(job) for job in (indexed, many, bad)]
    slow = await cluster.create(a_job("slow").spec(parallelism=3))
    await until_status(cluster, slow, active=3)
    await cluster.patch(slow, {"spec": {"parallelism": 1}})
    await until_status(cluster, slow, active=1)
    for job in made:
        await until(cluster, partial(is_finished, cluster, job))
    await cluster.patch(slow, {"spec": {"suspend": True}})
    await until_status(cluster, slow, active=None)
    await cluster.patch(slow, {"spec": {"suspend": False}})
    await until_status(cluster, slow, active=1)


async def is_finished(cluster: Cluster, job: Object) -> bool:
    conditions = ((await cluster.read(job)).get("status") or {}).get("conditions") or []
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


async def every_hour(cluster: Cluster) -> None:
    """At half past the clocks may be minutes wrong: each hour is still struck once."""
    await cluster.clock.sleep(1800)
    kept = {"successfulJobsHistoryLimit": 10, "failedJobsHistoryLimit": 10}
    tick = await cluster.create(a_cron_job("tick", "0 * * * *").spec(**kept))
    few = await cluster.create(a_cron_job("few", "0 * * * *").spec(successfulJobsHistoryLimit=1))
    await cluster.clock.sleep(4 * 3600)
    for cron_job in (tick, few):
        await cluster.patch(cron_job, {"spec": {"suspend": True}}, CRON_JOBS)

    async def have_ended() -> bool:
        jobs = await cluster.list(JOBS)
        return bool(jobs) and all([await is_finished(cluster, job) for job in jobs])

    await until(cluster, have_ended)


async def cleaned_up(cluster: Cluster) -> None:
    brief = await cluster.create(a_job("brief").spec(ttlSecondsAfterFinished=60))
    kept = await cluster.create(a_job("kept"))
    longer = await cluster.create(a_job("longer").spec(ttlSecondsAfterFinished=7200))
    for job in (kept, longer):
        await until(cluster, partial(is_finished, cluster, job))
    await until_gone(cluster, brief)
    await cluster.patch(longer, {"spec": {"ttlSecondsAfterFinished": 1}})
    await until_gone(cluster, longer)


def pods_of(job: str, count: int) -> Law:
    return at_most(count, "pods", f"pods of {job}", lambda pod: labels_of(pod).get("job-name") == job)


NO_MORE_AT_ONCE = (pods_of("indexed", 2), pods_of("many", 3), pods_of("bad", 1), pods_of("slow", 3))


def one_job_a_tick(live: Live, _: object) -> str:
    ticks = [
        (controller_of(job) or {}).get("name", "") + " " + annotations_of(job).get(SCHEDULED, "")
        for key, job in live.items()
        if key.resource == "jobs.batch"
    ]
    twice = sorted({tick for tick in ticks if ticks.count(tick) > 1})
    return f"two Jobs for one tick: {', '.join(twice)}" if twice else ""


SCENARIOS = (
    Scenario("job-controller", with_endings("job-controller"), all_sorts, spared=COUNTING, laws=NO_MORE_AT_ONCE),
    Scenario("cronjob-controller", with_endings("cronjob-controller", "job-controller"), every_hour, spared=COUNTING),
    Scenario(
        "ttl-after-finished-controller",
        with_endings("ttl-after-finished-controller", "job-controller", "garbage-collector-controller"),
        cleaned_up,
        spared=COUNTING,
    ),
)
