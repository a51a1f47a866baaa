"""What things are called. manifests/crd.yaml says what a MySQLBackup may look like."""

from __future__ import annotations

from kubeloop.apimachinery.resource import Resource

OPERATOR = "mysql-backup-operator"
# The operator's own namespace: its account and its Lease, and the records of all dumps.
SYSTEM_NAMESPACE = "mysql-backup-system"

MYSQL_BACKUPS = Resource("mysql.example.com", "v1", "mysqlbackups", "MySQLBackup")
DUMP_FINALIZER = "mysql.example.com/dump"
DUMP_LABEL = "mysql.example.com/dump"
BACKUP_LABEL = "mysql.example.com/backup"

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
COMPLETE_CONDITION, FAILED_CONDITION = "Complete", "Failed"

# Which versions this release of the operator has a dump tool for. The schema cannot know: it is older, or newer.
TOOL_IMAGES = {"8.0": "mysql-dump:8.0", "8.4": "mysql-dump:8.4", "9.4": "mysql-dump:9.4"}
