"""Jobs in a living cluster."""

import asyncio
import itertools
from typing import Any

import pytest

from controllers import job
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, controller_of, finalizers_of, name_of
from kubeloop.apimachinery.resource import EVENTS, JOBS, PODS, RESOURCE_QUOTAS
from kubeloop.testing.builders import a_job, a_pod
from kubeloop.testing.cluster import Cluster, Process, a_loop, run_cluster
from tests.unit.controllers.jobs import INDEX, runs_to_end

TRACKING = "batch.kubernetes.io/job-tracking"


def processes(*outcomes: str) -> dict[str, Process]:
    """The pods end one after the other as `outcomes` say, all further ones like the last."""
    left = list(outcomes)

    def outcome(pod: ReadOnlyObject) -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    return {"job": a_loop(job.add_to), "endings": a_loop(runs_to_end(outcome))}


async def ended(cluster: Cluster, made: Object, within_seconds: float = 60) -> Object:
    """The status of the Job once it is Complete or Failed."""

    async def found() -> Object | None:
        status: Object = (await cluster.read(made))["status"]
        types = {condition["type"] for condition in status.get("conditions") or ()}
        return status if types & {"Complete", "Failed"} else None

    return await cluster.eventually(found, within_seconds)


def types_of(status: Object) -> list[str]:
    return [condition["type"] for condition in status.get("conditions") or ()]


def creations(cluster: Cluster) -> list[float]:
    """When pods were created."""
    return [write.seconds for write in cluster.writes if write.method == "POST" and "/pods?" in f"{write.target}?"]


def test_a_job_runs_to_its_end() -> None:
    """Every success is counted, the conditions come in two steps, no finalizer is left, and people are told."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_job("work").spec(completions=5, parallelism=2))
        status = await ended(cluster, made)
        await cluster.settled()
        finalizers = [finalizer for pod in await cluster.list(PODS) for finalizer in finalizers_of(pod)]
        told = {event["reason"] for event in await cluster.list(EVENTS)}
        return status, len(await cluster.list(PODS)), finalizers, told

    status, pods, finalizers, told = run_cluster(check, processes=processes("Succeeded"))

    assert ["SuccessCriteriaMet", "Complete"] == types_of(status)
    assert (5, 5, 0, {}) == (status["succeeded"], pods, status["terminating"], status["uncountedTerminatedPods"])
    assert ([], {"SuccessfulCreate", "Completed"}) == (finalizers, told)
    assert status["startTime"] <= status["completionTime"]


@pytest.mark.parametrize("seed", range(4))
def test_however_often_the_loop_dies_each_pod_counts_once(seed: int) -> None:
    """Killed between any two of its writes and started again, it ends with exactly as many successes and failures."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        spec = {"completions": 12, "parallelism": 4, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
        made = await cluster.create(a_job("work").spec(**spec if seed % 2 else {"completions": 12, "parallelism": 4}))
        for turn in range(25):
            if not await _written(cluster, 1 + (seed + turn) % 3):
                break
            await cluster.stop("job")
            cluster.start("job")
        status = await ended(cluster, made, within_seconds=600)
        await cluster.settled()
        pods = await cluster.list(PODS)
        phases = [pod["status"]["phase"] for pod in pods]
        return status, phases.count("Succeeded"), phases.count("Failed"), sum(map(len, map(finalizers_of, pods)))

    status, succeeded, failed, finalizers = run_cluster(
        check, seed=seed, processes=processes("Succeeded", "Failed", "Succeeded", "Failed", "Succeeded")
    )

    assert ((12, 2, 0), (12, 2)) == ((succeeded, failed, finalizers), (status["succeeded"], status["failed"]))
    assert "Complete" == types_of(status)[-1]


async def _written(cluster: Cluster, count: int) -> bool:
    """Wait for the moment when the loop has sent so many more writes; False where it has no more to send."""
    target, idle_seconds = _writes_of(cluster) + count, 0
    while _writes_of(cluster) < target and idle_seconds < 45:
        for _ in range(40):
            await asyncio.sleep(0)  # lets the others take a step, no time passes
            if _writes_of(cluster) >= target:
                return True
        idle_seconds += 1
        await cluster.clock.sleep(1)
    return _writes_of(cluster) >= target


def _writes_of(cluster: Cluster) -> int:
    return sum(write.process == "job" and "/events" not in write.target for write in cluster.writes)


def test_failed_pods_are_replaced_more_and_more_slowly() -> None:
    """10 s after the first failure, then 20 s and 40 s; past the limit the Job has failed."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_job("work").spec(backoffLimit=3))
        status = await ended(cluster, made, within_seconds=120)
        times = creations(cluster)
        return status, [round(later - earlier, -1) for earlier, later in itertools.pairwise(times)]

    status, gaps = run_cluster(check, processes=processes("Failed"))

    assert ([10, 20, 40], 4) == (gaps, status["failed"])
    assert "BackoffLimitExceeded" == status["conditions"][-1]["reason"]


def test_a_deadline_passes_without_any_event() -> None:
    """Pods that run on are deleted when the time is up, counted as failed, and gone before the Job has failed."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_job("work").spec(activeDeadlineSeconds=30, parallelism=2, completions=2))
        began = cluster.clock.monotonic()
        status = await ended(cluster, made)
        return status, cluster.clock.monotonic() - began, len(await cluster.list(PODS))

    status, seconds, pods = run_cluster(check, processes=processes(""))

    assert (["FailureTarget", "Failed"], 2, 0) == (types_of(status), status["failed"], pods)
    assert 29 <= seconds <= 35, seconds


def test_suspending_stops_the_clock() -> None:
    """Pods go without being counted, there is no start time; resuming makes new ones and starts time anew."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        made = await cluster.create(a_job("work").spec(parallelism=3, completions=3))
        await cluster.settled()
        started = (await cluster.read(made))["status"]
        await cluster.patch(made, {"spec": {"suspend": True}})
        await cluster.settled()
        held, pods = (await cluster.read(made))["status"], len(await cluster.list(PODS))
        await cluster.patch(made, {"spec": {"suspend": False}})
        await cluster.settled()
        return started, held, pods, (await cluster.read(made))["status"]

    started, held, pods, resumed = run_cluster(check, processes=processes(""))

    assert (0, None, None, None) == (pods, held.get("active"), held.get("startTime"), held.get("failed"))
    assert ([("Suspended", "True", "JobSuspended")], [("Suspended", "False", "JobResumed")]) == tuple(
        [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] for status in (held, resumed)
    )
    assert (3, True) == (resumed["active"], started["startTime"] < resumed["startTime"])


@pytest.mark.parametrize("policy", ["Orphan", "Background", "Foreground"])
def test_a_deleted_job_leaves_no_finalizers(policy: str) -> None:
    """Pods that are left behind, or wait to be collected, can be deleted."""

    async def check(cluster: Cluster) -> list[list[str]]:
        made = await cluster.create(a_job("work").spec(parallelism=2, completions=2))
        await cluster.settled()
        await cluster.delete(made, propagation_policy=policy)
        if policy != "Orphan":
            for pod in await cluster.list(PODS):
                await cluster.delete(pod)
        await cluster.settled()
        return [list(finalizers_of(pod)) for pod in await cluster.list(PODS)]

    left = run_cluster(check, processes=processes(""))

    assert ([[], []] if policy == "Orphan" else []) == left


def test_matching_orphans_are_adopted() -> None:
    """With a selector of its own a Job takes pods over, finalizer and all, and lets go of those that do not match."""

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        orphan = await cluster.create(a_pod("orphan").labels(work="x").spec(restartPolicy="Never"))
        wanted = a_job("work").spec(manualSelector=True, selector={"matchLabels": {"work": "x"}})
        wanted["spec"]["template"]["metadata"] = {"labels": {"work": "x"}}
        made = await cluster.create(wanted)
        await cluster.settled()
        adopted = await cluster.read(orphan)
        active = (await cluster.read(made))["status"]["active"]
        await cluster.patch(orphan, {"metadata": {"labels": {"work": "y"}}})
        await cluster.settled()
        return adopted, active, await cluster.read(orphan), len(await cluster.list(PODS))

    adopted, active, released, pods = run_cluster(check, processes=processes(""))

    assert ("Job", [TRACKING], 1) == ((controller_of(adopted) or {})["kind"], list(finalizers_of(adopted)), active)
    assert (None, [], 2) == (controller_of(released), list(finalizers_of(released)), pods)


def test_an_index_that_fails_for_good_does_not_hold_up_the_others() -> None:
    """Each index has its own count and back-off; the Job fails once all the others are done."""

    def outcome(pod: ReadOnlyObject) -> str:
        return "Failed" if annotations_of(pod)[INDEX] == "1" else "Succeeded"

    async def check(cluster: Cluster) -> tuple[Any, ...]:
        spec = {"completions": 4, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 2}
        made = await cluster.create(a_job("work").spec(**spec))
        status = await ended(cluster, made, within_seconds=120)
        await cluster.settled()
        failures = [
            annotations_of(pod)["batch.kubernetes.io/job-index-failure-count"]
            for pod in await cluster.list(PODS)
            if annotations_of(pod)[INDEX] == "1"
        ]
        return status, sorted(failures)

    loops = {"job": a_loop(job.add_to), "endings": a_loop(runs_to_end(outcome))}
    status, failures = run_cluster(check, processes=loops)

    assert ("0,2,3", "1", 3, 3) == (
        status["completedIndexes"],
        status["failedIndexes"],
        status["succeeded"],
        status["failed"],
    )
    assert (["0", "1", "2"], "FailedIndexes") == (failures, status["conditions"][-1]["reason"])


def test_a_job_that_somebody_else_manages_is_left_alone() -> None:
    """Neither pods nor status."""

    async def check(cluster: Cluster) -> tuple[int, Object]:
        made = await cluster.create(a_job("work").spec(managedBy="example.com/mine"))
        await cluster.settled()
        return len(await cluster.list(PODS)), (await cluster.read(made)).get("status") or {}

    assert (0, {}) == run_cluster(check, processes=processes("Succeeded"))


def test_many_pods_are_few_status_writes() -> None:
    """Pods come and go in bunches, and so they are counted."""

    async def check(cluster: Cluster) -> tuple[int, int, int]:
        made = await cluster.create(a_job("work").spec(completions=300, parallelism=300))
        status = await ended(cluster, made, within_seconds=120)
        writes = [write for write in cluster.writes if write.target.startswith(JOBS.path("default", "work", "status"))]
        return status["succeeded"], len(creations(cluster)), len(writes)

    succeeded, created, writes = run_cluster(check, processes=processes("Succeeded"))

    assert (300, 300) == (succeeded, created)
    assert writes <= 20, writes


def test_pods_are_named_after_the_job() -> None:
    """Name prefix and labels are those that people select by."""

    async def check(cluster: Cluster) -> Object:
        await cluster.create(a_job("work"))
        await cluster.settled()
        (pod,) = await cluster.list(PODS, "default", "job-name=work")
        return pod

    pod = run_cluster(check, processes=processes("Succeeded"))

    assert (True, "work") == (
        name_of(pod).startswith("work-"),
        pod["metadata"]["labels"]["batch.kubernetes.io/job-name"],
    )


def test_a_refusal_of_pods_is_not_asked_for_again_at_once() -> None:
    """Under a quota the Job tries after 1 s, 2 s, 4 s: each try is an event that somebody reads."""

    async def check(cluster: Cluster) -> list[int]:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"}}
        await cluster.create({**quota, "spec": {"hard": {"pods": "0"}}})
        await cluster.api.patch(
            RESOURCE_QUOTAS,
            "none",
            {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}},
            "default",
            subresource="status",
        )
        await cluster.create(a_job("work"))
        await cluster.clock.sleep(20)
        return [round(seconds) for seconds in creations(cluster)]

    asked = run_cluster(check, processes=processes("Succeeded"))

    assert [1, 2, 4, 8] == [later - earlier for earlier, later in itertools.pairwise(asked)]
