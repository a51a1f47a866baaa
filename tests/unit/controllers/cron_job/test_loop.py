"""CronJobs in a living cluster, whose time begins on the hour."""

from typing import Any

import pytest

from controllers import cron_job, job
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.resource import CRON_JOBS, EVENTS, JOBS
from kubeloop.testing.builders import a_cron_job
from kubeloop.testing.cluster import Cluster, Process, a_loop, run_cluster
from tests.unit.controllers.jobs import runs_to_end


def processes(outcome: str = "") -> dict[str, Process]:
    def always(pod: ReadOnlyObject) -> str:
        return outcome

    return {
        "cronjob": a_loop(cron_job.add_to),
        "job": a_loop(job.add_to),
        "endings": a_loop(runs_to_end(always)),
    }


async def starts(cluster: Cluster) -> list[str]:
    """When Jobs were due, by their own account."""
    jobs = await cluster.list(JOBS)
    return sorted(made["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] for made in jobs)


def minutes(*numbers: int) -> list[str]:
    return [f"2026-01-01T00:{minute:02}:00Z" for minute in numbers]


async def reasons(cluster: Cluster) -> set[str]:
    about = await cluster.list(EVENTS)
    return {event["reason"] for event in about if event["involvedObject"]["kind"] == "CronJob"}


def test_a_job_is_started_every_minute() -> None:
    """On time, one for each minute, and the status says which run and when the last was due."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_cron_job("tick", "* * * * *"))
        await cluster.clock.sleep(190)
        names = sorted(map(name_of, await cluster.list(JOBS)))
        return names, await starts(cluster), (await cluster.read(made))["status"], await reasons(cluster)

    names, due, status, told = run_cluster(check, processes=processes())

    assert (minutes(1, 2, 3), minutes(3)) == (due, [status["lastScheduleTime"]])
    assert (names, {"SuccessfulCreate"}) == (sorted(ref["name"] for ref in status["active"]), told)


def test_finished_runs_are_kept_as_long_as_the_limits_say() -> None:
    """Ended Jobs leave the active list, the oldest are deleted, the last success is noted."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_cron_job("tick", "* * * * *").spec(successfulJobsHistoryLimit=2))
        await cluster.clock.sleep(330)
        return await starts(cluster), (await cluster.read(made))["status"], await reasons(cluster)

    due, status, told = run_cluster(check, processes=processes("Succeeded"))

    assert (minutes(4, 5), None) == (due, status.get("active"))
    assert "2026-01-01T00:05:01Z" <= status["lastSuccessfulTime"] <= "2026-01-01T00:05:05Z"
    assert {"SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"} == told


@pytest.mark.parametrize(
    ("policy", "expected", "reason"),
    [("Allow", (1, 2, 3), None), ("Forbid", (1,), "JobAlreadyActive"), ("Replace", (3,), "SuccessfulDelete")],
)
def test_runs_overlap_as_allowed(policy: str, expected: tuple[int, ...], reason: str | None) -> None:
    """A run that does not end is joined by others, keeps them from starting, or makes way."""

    async def check(cluster: Cluster) -> tuple[list[str], int, set[str]]:
        made = await cluster.create(a_cron_job("tick", "* * * * *").spec(concurrencyPolicy=policy))
        await cluster.clock.sleep(190)
        return await starts(cluster), len((await cluster.read(made))["status"]["active"]), await reasons(cluster)

    due, active, told = run_cluster(check, processes=processes())

    assert (minutes(*expected), len(expected)) == (due, active)
    assert ({reason} if reason else set()) == told - {"SuccessfulCreate"}


def test_a_loop_that_was_away_makes_up_for_the_latest_time_only() -> None:
    """However often it is killed, no time has two Jobs."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_cron_job("tick", "* * * * *"))
        await cluster.clock.sleep(65)
        await cluster.stop("cronjob")
        await cluster.clock.sleep(200)
        for _ in range(3):
            cluster.start("cronjob")
            await cluster.clock.sleep(2)
            await cluster.stop("cronjob")
        return await starts(cluster)

    assert minutes(1, 4) == run_cluster(check, processes=processes())


def test_a_job_whose_entry_got_lost_is_found_again() -> None:
    """Killed between starting a Job and noting it, the loop notes it later and starts no other."""

    async def check(cluster: Cluster) -> tuple[list[str], int]:
        made = await cluster.create(a_cron_job("tick", "0 * * * *"))
        await cluster.clock.sleep(3605)
        await cluster.stop("cronjob")
        lost = {"active": None, "lastScheduleTime": None}
        await cluster.api.patch(CRON_JOBS, "tick", {"status": lost}, "default", subresource="status")
        cluster.start("cronjob")
        await cluster.settled()
        status = (await cluster.read(made))["status"]
        return [ref["name"] for ref in status["active"]], len(await cluster.list(JOBS))

    active, jobs = run_cluster(check, processes=processes())

    assert (1, 1) == (len(active), jobs)


def test_a_new_schedule_counts_from_now_on() -> None:
    """Times it would have had before are not made up for; a suspended one starts nothing."""

    async def check(cluster: Cluster) -> tuple[list[str], list[str]]:
        made = await cluster.create(a_cron_job("tick", "0 0 1 6 *").spec(suspend=True))
        await cluster.clock.sleep(630)
        await cluster.patch(made, {"spec": {"schedule": "*/5 * * * *", "suspend": False}})
        await cluster.clock.sleep(200)
        early = await starts(cluster)
        await cluster.clock.sleep(120)
        return early, await starts(cluster)

    assert ([], minutes(15)) == run_cluster(check, processes=processes())


def test_a_deleted_job_leaves_the_list() -> None:
    """A run that somebody deleted is missed and no longer active."""

    async def check(cluster: Cluster) -> tuple[Any, set[str]]:
        made = await cluster.create(a_cron_job("tick", "* * * * *"))
        await cluster.clock.sleep(65)
        await cluster.patch(made, {"spec": {"suspend": True}})
        (run,) = await cluster.list(JOBS)
        await cluster.delete(run, propagation_policy="Background")
        await cluster.settled()
        return (await cluster.read(made))["status"].get("active"), await reasons(cluster)

    assert (None, {"SuccessfulCreate", "MissingJob"}) == run_cluster(check, processes=processes())


def test_a_run_that_is_too_late_is_left_out() -> None:
    """Too late by more than startingDeadlineSeconds, it is not made up for."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_cron_job("tick", "0 * * * *").spec(startingDeadlineSeconds=30))
        await cluster.stop("cronjob")
        await cluster.clock.sleep(3640)
        cluster.start("cronjob")
        await cluster.settled()
        return await starts(cluster)

    assert [] == run_cluster(check, processes=processes())
