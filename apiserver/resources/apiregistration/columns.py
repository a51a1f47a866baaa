"""What `kubectl get apiservices` shows."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject


def _service(api_service: ReadOnlyObject, now: datetime) -> str:
    service = (api_service.get("spec") or {}).get("service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _available(api_service: ReadOnlyObject, now: datetime) -> str:
    """The condition's status, with its reason where it is not True."""
    conditions = (api_service.get("status") or {}).get("conditions") or ()
    condition = next((one for one in conditions if one["type"] == "Available"), None)
    if condition is None:
        return "Unknown"
    if condition["status"] != "True" and condition.get("reason"):
        return f"{condition['status']} ({condition['reason']})"
    return condition["status"]


API_SERVICE_COLUMNS = (
    NAME,
    Column("Service", "string", _service),
    Column("Available", "string", _available),
    AGE,
)
