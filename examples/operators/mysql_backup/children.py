"""The objects that a MySQLBackup leads to: the Job that dumps, and the record that there is a dump."""

from __future__ import annotations

from collections.abc import Iterable

from examples.operators.mysql_backup.api import BACKUP_LABEL, DUMP_LABEL, OPERATOR, SYSTEM_NAMESPACE, TOOL_IMAGES
from examples.operators.mysql_backup.model import Backup
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.resource import CONFIG_MAPS, JOBS

_SCRIPT = """\
set -o pipefail
mysqldump --host="$HOST" --port="$PORT" --user="$MYSQL_USER" --single-transaction "$DATABASE" \\
  | gzip | s3cmd put - "$LOCATION"
"""


def job_name(backup: Backup) -> str:
    return f"{backup.key.name}-dump"


def job_for(backup: Backup) -> Object:
    """Pods never restart in place, so that the Job counts the tries. Values travel in the environment, not in shell."""
    labels = {"app.kubernetes.io/managed-by": OPERATOR, BACKUP_LABEL: backup.key.name}
    plain = {"HOST": backup.host, "PORT": str(backup.port), "DATABASE": backup.database, "LOCATION": backup.location}
    container = {
        "name": "dump",
        "image": TOOL_IMAGES[backup.mysql_version],
        "command": ["bash", "-ec", _SCRIPT],
        "env": [
            *({"name": name, "value": value} for name, value in plain.items()),
            _from_secret("MYSQL_USER", backup.credentials_secret, "user"),
            _from_secret("MYSQL_PWD", backup.credentials_secret, "password"),
        ],
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": job_name(backup), "namespace": backup.key.namespace, "labels": labels},
        "spec": {
            "backoffLimit": backup.retries,
            "activeDeadlineSeconds": backup.timeout_seconds,
            "template": {
                "metadata": {"labels": labels, "annotations": dict(backup.pod_annotations)},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def record_name(backup: Backup) -> str:
    return f"dump-{backup.uid}"


def record_of(backup: Backup, completed_at: str) -> Object:
    """A ConfigMap that stands for the file in the bucket, which no owner reference could reach either."""
    return {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {
            "name": record_name(backup),
            "namespace": SYSTEM_NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": OPERATOR, DUMP_LABEL: backup.database},
        },
        "data": {
            "backup": str(backup.key),
            "database": f"{backup.host}:{backup.port}/{backup.database}",
            "location": backup.location,
            "completedAt": completed_at,
        },
    }


def backup_keys(record: ReadOnlyObject) -> Iterable[ObjectKey]:
    """The MySQLBackup that a record names, if it names one."""
    namespace, _, name = ((record.get("data") or {}).get("backup") or "").partition("/")
    return (ObjectKey(namespace, name),) if name else ()


def _from_secret(name: str, secret: str, key: str) -> Object:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
