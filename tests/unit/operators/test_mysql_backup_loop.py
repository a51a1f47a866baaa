"""MySQLBackups in a living cluster: the operator, the Job controller, scheduler and nodes, on virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from controllers import garbage_collector, job, namespace, node_lifecycle
from controllers.scheduler import loop as scheduler
from examples.operators import mysql_backup
from examples.operators.mysql_backup.api import DUMP_FINALIZER, MYSQL_BACKUPS, SYSTEM_NAMESPACE
from examples.operators.mysql_backup.reconciler import MySQLBackupReconciler
from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import Conflict, Invalid, NotFound
from kubeloop.apimachinery.meta import Object, controller_of, finalizers_of, key_of, name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, EVENTS, JOBS, NAMESPACES, PODS, SECRETS
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import Builder, a_job, a_namespace
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.testkit.operators import install

OPERATOR = "operator"


def loops(manager: Manager) -> None:
    garbage_collector.add_to(manager)
    job.add_to(manager)
    namespace.add_to(manager)
    node_lifecycle.add_to(manager)


PROCESSES = {
    OPERATOR: a_loop(mysql_backup.add_to),
    "loops": a_loop(loops),
    "scheduler": a_loop(scheduler.add_to),
    "nodes": a_loop(partial(simulator.add_to, settings=Settings(nodes=1))),
}


def a_backup(name: str = "nightly", exit_after: str = "60s", exit_code: int = 0, **spec: Any) -> Builder:
    wanted = {"host": "mysql", "database": "shop", "bucket": "dumps", "credentialsSecret": "login"}
    annotations = {"kubeloop.io/exit-after": exit_after, "kubeloop.io/exit-code": str(exit_code)}
    return Builder(
        apiVersion=MYSQL_BACKUPS.api_version,
        kind=MYSQL_BACKUPS.kind,
        metadata={"name": name, "namespace": "default"},
        spec={**wanted, "podAnnotations": annotations, **spec},
    )


def a_login(namespace: str = "default") -> Builder:
    metadata = {"name": "login", "namespace": namespace}
    return Builder(apiVersion="v1", kind="Secret", metadata=metadata, stringData={"user": "me", "password": "secret"})


def play(check: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    """Run `check` in a cluster that has the kind, the operator's namespace and the Secret of `a_backup`."""

    async def main(cluster: Cluster) -> None:
        await install(cluster, "mysql_backup")
        await cluster.create(a_namespace(SYSTEM_NAMESPACE))
        await cluster.create(a_login())
        await check(cluster)

    run_cluster(main, processes=PROCESSES)


async def create(cluster: Cluster, backup: Object) -> Object:
    return await cluster.create(backup, MYSQL_BACKUPS)


async def read(cluster: Cluster, name: str = "nightly") -> Object:
    return await cluster.api.get(MYSQL_BACKUPS, name, "default")


async def becomes(cluster: Cluster, reason: str, within_seconds: float = 120) -> Object:
    """The backup, once that is what is said of it."""

    async def said() -> Object | None:
        backup = await read(cluster)
        condition = get_condition(conditions_of(backup), "Complete")
        return backup if condition is not None and condition["reason"] == reason else None

    return await cluster.eventually(said, within_seconds)


async def is_gone(cluster: Cluster, name: str = "nightly") -> bool:
    try:
        await read(cluster, name)
    except NotFound:
        return True
    return False


async def told(cluster: Cluster) -> list[str]:
    """The reasons of all events about backups, in the order of their first time, as often as they were told."""
    events = [each for each in await cluster.list(EVENTS) if each["involvedObject"]["kind"] == MYSQL_BACKUPS.kind]
    in_order = sorted(events, key=lambda each: str(each["metadata"]["name"]))
    return [each["reason"] for each in in_order for _ in range(each["count"])]


async def dumps(cluster: Cluster) -> list[Object]:
    records: list[Object] = await cluster.list(CONFIG_MAPS, SYSTEM_NAMESPACE)
    return records


def test_a_backup_is_dumped_by_a_job_and_recorded() -> None:
    """Pending, Running, Succeeded: each phase is said, with the Job's times; a record tells of the dump."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup())

        running = (await becomes(cluster, "Dumping"))["status"]
        backup = await becomes(cluster, "DumpStored")

        (made,) = await cluster.list(JOBS)
        (record,) = await dumps(cluster)
        await cluster.settled()
        status, location = backup["status"], f"s3://dumps/default/nightly/{backup['metadata']['uid']}.sql.gz"
        assert ("Running", "nightly-dump") == (running["phase"], running["jobName"])
        assert "completedAt" not in running
        assert ("Succeeded", 1, location) == (status["phase"], status["observedGeneration"], status["location"])
        assert (made["status"]["startTime"], made["status"]["completionTime"]) == (
            status["startedAt"],
            status["completedAt"],
        )
        assert {"Complete": "True", "Failed": "False"} == {
            each["type"]: each["status"] for each in status["conditions"]
        }
        assert (controller_of(made) or {})["uid"] == backup["metadata"]["uid"]
        assert (location, status["completedAt"]) == (record["data"]["location"], record["data"]["completedAt"])
        assert ["Starting", "Dumping", "DumpStored"] == await told(cluster)

    play(check)


def test_a_dump_that_fails_is_tried_again_and_then_given_up() -> None:
    """The Job's own reason and message are passed on; there is no dump, and nobody tries for ever."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup(exit_after="1s", exit_code=2, retries=1))

        backup = await becomes(cluster, "BackoffLimitExceeded", within_seconds=300)

        await cluster.settled()
        conditions = conditions_of(backup)
        assert "Failed" == backup["status"]["phase"]
        assert "True" == (get_condition(conditions, "Failed") or {})["status"]
        assert "Job nightly-dump failed" in (get_condition(conditions, "Failed") or {})["message"]
        assert "Retrying" in await told(cluster)
        assert [] == await dumps(cluster)

    play(check)


def test_a_version_without_a_tool_is_refused_until_the_spec_is_mended() -> None:
    """No Job is made, people are told once, and the next generation is looked at anew."""

    async def check(cluster: Cluster) -> None:
        made = await create(cluster, a_backup(mysqlVersion="5.5"))

        refused = await becomes(cluster, "UnsupportedVersion")
        await cluster.settled()
        assert ("Failed", []) == (refused["status"]["phase"], await cluster.list(JOBS))
        assert ["UnsupportedVersion"] == await told(cluster)

        await cluster.patch(made, {"spec": {"mysqlVersion": "9.4"}}, MYSQL_BACKUPS)
        backup = await becomes(cluster, "DumpStored")
        (job_made,) = await cluster.list(JOBS)
        assert 2 == backup["status"]["observedGeneration"]
        assert "mysql-dump:9.4" == job_made["spec"]["template"]["spec"]["containers"][0]["image"]

    play(check)


def test_a_pod_that_does_not_start_is_warned_of_after_a_minute() -> None:
    """No event says that nothing happens: the operator looks again by itself. Once the Secret is there, all goes on."""

    async def check(cluster: Cluster) -> None:
        await cluster.api.delete(SECRETS, "login", "default")
        await create(cluster, a_backup())

        stuck = await becomes(cluster, "NotStarting")
        assert "Secret login" in (get_condition(conditions_of(stuck), "Complete") or {})["message"]

        await cluster.create(a_login())
        await becomes(cluster, "DumpStored", within_seconds=300)

    play(check)


def test_deletion_stops_the_job_before_the_dump_goes() -> None:
    """The finalizer holds the object until no pod dumps any more; the record goes with it."""

    async def check(cluster: Cluster) -> None:
        slow = a_backup()
        slow["spec"]["podAnnotations"]["kubeloop.io/stop-after"] = "20s"
        await create(cluster, slow)
        backup = await becomes(cluster, "Dumping")
        assert [DUMP_FINALIZER] == list(finalizers_of(backup))

        await cluster.delete(backup, MYSQL_BACKUPS)

        await cluster.eventually(partial(is_gone, cluster))
        assert ([], [], []) == (await cluster.list(JOBS), await cluster.list(PODS), await dumps(cluster))

    play(check)


@pytest.mark.parametrize(("policy", "left"), [("Delete", 0), ("Retain", 1)])
def test_the_deletion_policy_decides_about_the_dump(policy: str, left: int) -> None:
    """With Retain the record, which no owner reference could hold, outlives the backup."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup(deletionPolicy=policy))
        backup = await becomes(cluster, "DumpStored")

        await cluster.delete(backup, MYSQL_BACKUPS)

        await cluster.eventually(partial(is_gone, cluster))
        assert left == len(await dumps(cluster))

    play(check)


def test_a_namespace_can_go_with_its_backups() -> None:
    """Nothing may be created in a namespace that goes; the clean-up needs nothing there, so it does not hold it up."""

    async def check(cluster: Cluster) -> None:
        shop = await cluster.create(a_namespace("shop"))
        await cluster.add_service_account("shop")
        await cluster.create(a_login("shop"))
        await create(cluster, a_backup(exit_after="1s").namespace("shop"))
        await cluster.eventually(partial(dumps, cluster))

        await cluster.delete(shop)

        async def is_empty() -> bool:
            return shop["metadata"]["name"] not in [name_of(each) for each in await cluster.list(NAMESPACES)]

        await cluster.eventually(is_empty)
        assert [] == await dumps(cluster)

    play(check)


def test_a_backup_goes_when_it_was_kept_long_enough() -> None:
    """keepFor counts from the end of the dump, and the dump goes too."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup(keepFor="10m"))
        await becomes(cluster, "DumpStored")
        ended = cluster.clock.monotonic()

        await cluster.eventually(partial(is_gone, cluster), within_seconds=900, every_seconds=1)

        assert 600 <= cluster.clock.monotonic() - ended + 1
        assert [] == await dumps(cluster)
        assert "Expired" in await told(cluster)

    play(check)


def test_a_removed_record_is_written_again() -> None:
    """As long as the backup says that there is a dump, the record does."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup())
        await becomes(cluster, "DumpStored")
        (record,) = await dumps(cluster)
        await cluster.settled(quiet_seconds=60)  # no look from before is due any more

        await cluster.delete(record)

        await cluster.eventually(partial(dumps, cluster))
        assert record["data"] == (await dumps(cluster))[0]["data"]

    play(check)


def test_a_deleted_job_is_made_again() -> None:
    """A backup that is not over has a Job, whoever removed the last one."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup())
        await becomes(cluster, "Dumping")
        (first,) = await cluster.list(JOBS)

        await cluster.delete(first, propagation_policy="Background")

        await becomes(cluster, "DumpStored", within_seconds=300)
        (second,) = await cluster.list(JOBS)
        assert first["metadata"]["uid"] != second["metadata"]["uid"]

    play(check)


def test_a_finished_backup_makes_no_second_dump() -> None:
    """Its Job may go, and the operator may start again: what is over is over."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup())
        before = await becomes(cluster, "DumpStored")
        (made,) = await cluster.list(JOBS)

        await cluster.stop(OPERATOR)
        await cluster.delete(made, propagation_policy="Background")
        cluster.start(OPERATOR)
        await cluster.settled()

        assert [] == await cluster.list(JOBS)
        assert before == await read(cluster)

    play(check)


def test_a_cache_that_lags_makes_no_second_dump() -> None:
    """It still shows the backup as open, and its Job has come and gone: the server is asked before one is made."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup())
        stale = await becomes(cluster, "Dumping")
        await becomes(cluster, "DumpStored")
        await cluster.stop(OPERATOR)
        (made,) = await cluster.list(JOBS)
        await cluster.delete(made, propagation_policy="Background")
        late = MySQLBackupReconciler(Manager(cluster.api, cluster.clock, random.Random(1)))
        late.backups.store.put(stale)

        with pytest.raises(Conflict):
            await late.reconcile(key_of(stale))

        assert [] == await cluster.list(JOBS)

    play(check)


def test_a_job_of_somebody_else_is_waited_for() -> None:
    """It is neither adopted nor deleted, and once it is gone the backup goes on."""

    async def check(cluster: Cluster) -> None:
        foreign = await cluster.create(a_job("nightly-dump"))
        await create(cluster, a_backup())

        await becomes(cluster, "JobNameTaken")
        assert foreign["metadata"]["uid"] == (await cluster.read(foreign))["metadata"]["uid"]

        await cluster.delete(foreign, propagation_policy="Background")
        await becomes(cluster, "DumpStored", within_seconds=300)

    play(check)


def test_the_schema_freezes_what_the_job_was_made_from() -> None:
    """Once there is a Job, a change that could not reach it is refused; how long to keep may change."""

    async def check(cluster: Cluster) -> None:
        made = await create(cluster, a_backup())
        await becomes(cluster, "Dumping")

        with pytest.raises(Invalid, match="make another backup"):
            await cluster.patch(made, {"spec": {"database": "other"}}, MYSQL_BACKUPS)
        await cluster.patch(made, {"spec": {"keepFor": "1h"}}, MYSQL_BACKUPS)
        with pytest.raises(Invalid, match="at most 58 characters"):
            await create(cluster, a_backup("n" * 59))
        with pytest.raises(Invalid, match="at least 1s"):
            await create(cluster, a_backup("brief", keepFor="0s"))

    play(check)


@pytest.mark.parametrize("after_writes", range(1, 9))
def test_a_crash_after_any_write_changes_nothing(after_writes: int) -> None:
    """Killed between any two of its steps and started again, the operator comes to one Job and one record."""

    async def check(cluster: Cluster) -> None:
        await create(cluster, a_backup(exit_after="3s"))

        def has_written() -> bool:
            return after_writes <= sum(write.process == OPERATOR for write in cluster.writes)

        await cluster.eventually(has_written, every_seconds=0.001)
        await cluster.stop(OPERATOR)
        cluster.start(OPERATOR)

        await becomes(cluster, "DumpStored")
        await cluster.settled()
        created = [
            name_of(write.body) for write in cluster.writes if write.process == OPERATOR and "jobs" in write.target
        ]
        assert {"nightly-dump"} == set(created)
        assert (1, 1) == (len(await cluster.list(JOBS)), len(await dumps(cluster)))

    play(check)
