"""The MySQLBackup operator as it is written with kopf and the official client: `kopf run mysql_backup.py`."""

from __future__ import annotations

import datetime
from typing import Any

import kopf
import kubernetes
from kubernetes.client.exceptions import ApiException

BACKUPS = ("mysql.example.com", "v1", "mysqlbackups")
SYSTEM_NAMESPACE = "mysql-backup-system"
TOOL_IMAGES = {"8.0": "mysql-dump:8.0", "8.4": "mysql-dump:8.4", "9.4": "mysql-dump:9.4"}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.finalizer = "mysql.example.com/dump"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="mysql.example.com")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="mysql.example.com")


@kopf.on.resume(*BACKUPS)
@kopf.on.create(*BACKUPS)
def make_job(spec: kopf.Spec, name: str, namespace: str, status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    if status.get("completedAt"):
        return
    if spec["mysqlVersion"] not in TOOL_IMAGES:
        message = f"spec.mysqlVersion is {spec['mysqlVersion']}: there are tools for {', '.join(TOOL_IMAGES)}"
        report(patch, status, "Failed", "UnsupportedVersion", message)
        raise kopf.PermanentError(message)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}-dump", "labels": {"mysql.example.com/backup": name}},
        "spec": {
            "backoffLimit": spec["retries"],
            "activeDeadlineSeconds": spec["timeoutSeconds"],
            "template": {
                "metadata": {"annotations": dict(spec.get("podAnnotations", {}))},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "dump", "image": TOOL_IMAGES[spec["mysqlVersion"]]}],
                },
            },
        },
    }
    kopf.adopt(job)
    try:
        kubernetes.client.BatchV1Api().create_namespaced_job(namespace, job)
    except ApiException as error:
        if error.status != 409:
            raise
    patch.status["jobName"] = f"{name}-dump"
    if not status.get("phase"):
        report(patch, status, "Pending", "Starting", f"Job {name}-dump is starting")


@kopf.on.update(*BACKUPS, field="spec.keepFor")
def say_how_long(old: Any, new: Any, body: kopf.Body, **_: Any) -> None:
    kopf.info(body, reason="RetentionChanged", message=f"kept for {new or 'ever'} instead of {old or 'ever'}")


def is_underway(status: kopf.Status, **_: Any) -> bool:
    return bool(status.get("jobName")) and not status.get("completedAt")


@kopf.timer(*BACKUPS, interval=0.5, when=is_underway)
def follow_job(
    spec: kopf.Spec,
    status: kopf.Status,
    name: str,
    namespace: str,
    uid: str,
    body: kopf.Body,
    patch: kopf.Patch,
    **_: Any,
) -> None:
    job = kubernetes.client.BatchV1Api().read_namespaced_job(status["jobName"], namespace)
    conditions = {condition.type: condition for condition in job.status.conditions or [] if condition.status == "True"}
    if "Complete" in conditions:
        location = f"s3://{spec['bucket']}/{namespace}/{name}/{uid}.sql.gz"
        record_dump(name, namespace, uid, location)
        report(patch, status, "Succeeded", "DumpStored", f"stored at {location}")
        patch.status["location"] = location
        patch.status["completedAt"] = job.status.completion_time.isoformat()
        kopf.info(body, reason="DumpStored", message=f"stored at {location}")
    elif "Failed" in conditions:
        report(patch, status, "Failed", conditions["Failed"].reason, conditions["Failed"].message)
        patch.status["completedAt"] = now()
        kopf.warn(body, reason="DumpFailed", message=conditions["Failed"].message)
    elif job.status.ready:
        report(patch, status, "Running", "Dumping", f"Job {job.metadata.name} is dumping {spec['database']}")
        patch.status["startedAt"] = job.status.start_time.isoformat()


@kopf.on.delete(*BACKUPS)
def delete_record(spec: kopf.Spec, uid: str, **_: Any) -> None:
    """No owner reference reaches into another namespace; kopf's finalizer holds the backup until this is done."""
    if spec["deletionPolicy"] == "Retain":
        return
    try:
        kubernetes.client.CoreV1Api().delete_namespaced_config_map(f"dump-{uid}", SYSTEM_NAMESPACE)
    except ApiException as error:
        if error.status != 404:
            raise


def record_dump(name: str, namespace: str, uid: str, location: str) -> None:
    data = {"backup": f"{namespace}/{name}", "location": location}
    record = {"metadata": {"name": f"dump-{uid}"}, "data": data}
    try:
        kubernetes.client.CoreV1Api().create_namespaced_config_map(SYSTEM_NAMESPACE, record)
    except ApiException as error:
        if error.status != 409:
            raise


def report(patch: kopf.Patch, status: kopf.Status, phase: str, reason: str, message: str) -> None:
    """A phase and its conditions, where that is news."""
    if status.get("phase") == phase:
        return
    patch.status["phase"] = phase
    patch.status["conditions"] = [
        {
            "type": type_,
            "status": str(phase == its_phase),
            "reason": reason,
            "message": message,
            "lastTransitionTime": now(),
        }
        for type_, its_phase in (("Complete", "Succeeded"), ("Failed", "Failed"))
    ]


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
