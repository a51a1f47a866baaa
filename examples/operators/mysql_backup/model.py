"""A MySQLBackup as values: the JSON object is read here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of, uid_of
from kubeloop.apimachinery.times import moment_after, parse_time


@dataclass(frozen=True, slots=True)
class Backup:
    """What is asked for, and what has been said of it so far. The schema has filled in the defaults."""

    key: ObjectKey
    uid: str
    host: str
    port: int
    database: str
    mysql_version: str
    bucket: str
    credentials_secret: str
    retries: int
    timeout_seconds: int
    keep_for: str  # "" for ever
    is_dump_deleted_with_it: bool
    pod_annotations: Mapping[str, str]
    job_name: str  # "" before the Job is decided on
    completed_at: str  # "" until it is over, for better or worse
    phase: str

    @classmethod
    def of(cls, obj: ReadOnlyObject) -> Self:
        spec: Mapping[str, Any] = obj["spec"]
        status: Mapping[str, Any] = obj.get("status") or {}
        return cls(
            key=key_of(obj),
            uid=uid_of(obj),
            host=spec["host"],
            port=spec["port"],
            database=spec["database"],
            mysql_version=spec["mysqlVersion"],
            bucket=spec["bucket"],
            credentials_secret=spec["credentialsSecret"],
            retries=spec["retries"],
            timeout_seconds=spec["timeoutSeconds"],
            keep_for=spec.get("keepFor") or "",
            is_dump_deleted_with_it=spec["deletionPolicy"] == "Delete",
            pod_annotations=spec.get("podAnnotations") or {},
            job_name=status.get("jobName") or "",
            completed_at=status.get("completedAt") or "",
            phase=status.get("phase") or "",
        )

    @property
    def location(self) -> str:
        """Where the dump goes. The uid keeps it apart from those of namesakes before and after."""
        return f"s3://{self.bucket}/{self.key.namespace}/{self.key.name}/{self.uid}.sql.gz"

    @property
    def expires_at(self) -> datetime | None:
        """When the backup has been kept long enough; None before it is over, and where it is kept for ever."""
        if not self.keep_for or not self.completed_at:
            return None
        return moment_after(parse_time(self.completed_at), duration_seconds(self.keep_for))
