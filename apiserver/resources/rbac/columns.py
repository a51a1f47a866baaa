"""What `kubectl get` shows of roles and bindings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.printing.cells import AGE, NAME, PLAIN_COLUMNS
from apiserver.printing.table import Cell, Column
from kubeloop.apimachinery.meta import ReadOnlyObject


def _role(binding: ReadOnlyObject, now: datetime) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    """The subjects of one kind, with commas and spaces between."""

    def cell(binding: ReadOnlyObject, now: datetime) -> str:
        return ", ".join(_shown(subject) for subject in binding.get("subjects") or () if subject.get("kind") == kind)

    return cell


def _shown(subject: Mapping[str, Any]) -> str:
    name = subject.get("name", "")
    return f"{subject.get('namespace', '')}/{name}" if subject["kind"] == "ServiceAccount" else name


# Neither has a printer in the real server: kubectl shows when they were created.
ROLE_COLUMNS = PLAIN_COLUMNS
CLUSTER_ROLE_COLUMNS = PLAIN_COLUMNS

ROLE_BINDING_COLUMNS = (
    NAME,
    Column("Role", "string", _role),
    AGE,
    Column("Users", "string", _subjects("User"), priority=1),
    Column("Groups", "string", _subjects("Group"), priority=1),
    Column("ServiceAccounts", "string", _subjects("ServiceAccount"), priority=1),
)

CLUSTER_ROLE_BINDING_COLUMNS = ROLE_BINDING_COLUMNS
