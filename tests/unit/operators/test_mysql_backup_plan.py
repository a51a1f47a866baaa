"""Where a MySQLBackup stands, read from its Job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from examples.operators.mysql_backup.model import Backup
from examples.operators.mysql_backup.plan import standing, status_of
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time
from kubeloop.runtime.status import status_changes
from kubeloop.testing.virtual_time import EPOCH

SPEC = {
    "host": "mysql",
    "port": 3306,
    "database": "shop",
    "mysqlVersion": "8.4",
    "bucket": "dumps",
    "credentialsSecret": "login",
    "retries": 2,
    "timeoutSeconds": 600,
    "deletionPolicy": "Delete",
}
METADATA = {"name": "nightly", "namespace": "default", "uid": "u", "generation": 3}
BACKUP = {"metadata": METADATA, "spec": SPEC}
ENDED = "2026-01-01T00:05:00Z"


def a_job(age_seconds: float = 0, **status: Any) -> Object:
    return {"metadata": {"creationTimestamp": format_time(EPOCH - timedelta(seconds=age_seconds))}, "status": status}


def condition(type_: str) -> Object:
    return {"type": type_, "status": "True", "reason": "DeadlineExceeded", "lastTransitionTime": ENDED}


@pytest.mark.parametrize(
    ("job", "phase", "reason"),
    [
        (a_job(), "Pending", "Starting"),
        (a_job(59, active=1), "Pending", "Starting"),
        (a_job(60, active=1), "Pending", "NotStarting"),
        (a_job(60, active=1, ready=1), "Running", "Dumping"),
        (a_job(60, active=1, failed=1), "Pending", "Retrying"),
        (a_job(60, active=1, failed=1, ready=1), "Running", "Dumping"),
        (a_job(90, uncountedTerminatedPods={"succeeded": ["u"]}), "Running", "Dumping"),
        (a_job(90, succeeded=1, conditions=[condition("SuccessCriteriaMet")]), "Running", "Dumping"),
        (a_job(90, completionTime=ENDED, conditions=[condition("Complete")]), "Succeeded", "DumpStored"),
        (a_job(90, failed=3, conditions=[condition("FailureTarget")]), "Pending", "Retrying"),
        (a_job(90, failed=3, conditions=[condition("Failed")]), "Failed", "DeadlineExceeded"),
    ],
)
def test_the_job_says_where_the_backup_stands(job: Object, phase: str, reason: str) -> None:
    """Whatever was seen before; over is only what the Job says is over, and since when."""
    found = standing(Backup.of(BACKUP), job, EPOCH)

    assert (phase, reason, ENDED if phase in ("Succeeded", "Failed") else "") == (
        found.phase,
        found.reason,
        found.completed_at,
    )


def test_a_status_said_twice_is_the_same() -> None:
    """Later, too: nothing in it moves with the clock, so the second reconcile has nothing to write."""
    found = standing(Backup.of(BACKUP), a_job(1, active=1), EPOCH)

    fields, conditions = status_of(found, Backup.of(BACKUP))
    once = status_changes(BACKUP, fields, conditions, EPOCH)
    twice = status_changes({**BACKUP, "status": once}, fields, conditions, EPOCH + timedelta(seconds=30))

    assert once == twice
    assert [3, 3] == [each["observedGeneration"] for each in once["conditions"]]
