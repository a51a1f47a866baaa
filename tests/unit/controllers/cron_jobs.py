"""CronJobs and the Jobs they made, for the planners."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import a_template, seconds_ago


def a_cron_job(schedule: str = "* * * * *", age: float = 3600, **spec: Any) -> Object:
    """Created `age` seconds ago; `last`: seconds since it was last due; `active`: names; the rest is spec."""
    status: Object = {}
    if (last := spec.pop("last", None)) is not None:
        status["lastScheduleTime"] = seconds_ago(last)
    if active := spec.pop("active", ()):
        status["active"] = [{"name": name, "namespace": "default", "uid": name} for name in active]
    metadata = {"name": "cron", "namespace": "default", "uid": "cron", "creationTimestamp": seconds_ago(age)}
    if spec.pop("deleted", False):
        metadata["deletionTimestamp"] = seconds_ago(1)
    template = {"metadata": {"labels": {"team": "x"}}, "spec": {"template": a_template()}}
    usual = {"schedule": schedule, "concurrencyPolicy": "Allow", "suspend": False, "jobTemplate": template}
    return {"metadata": metadata, "spec": {**usual, **spec}, "status": status}


def a_run(name: str, end: str = "", started: float | None = None, completed: float | None = None) -> Object:
    """A Job of a CronJob: `end` is Complete or Failed."""
    status: Object = {"conditions": [{"type": end, "status": "True"}]} if end else {}
    if started is not None:
        status["startTime"] = seconds_ago(started)
    if completed is not None:
        status["completionTime"] = seconds_ago(completed)
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "status": status}
