"""What `kubectl get` shows of device classes, claims and slices (resource.k8s.io)."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, field
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, is_being_deleted


def _state(claim: ReadOnlyObject, now: datetime) -> str:
    status = claim.get("status") or {}
    states = ["deleted"] if is_being_deleted(claim) else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states) or "pending"


DEVICE_CLASS_COLUMNS = (NAME, AGE)

RESOURCE_CLAIM_COLUMNS = (
    NAME,
    Column("State", "string", _state),
    AGE,
)

RESOURCE_CLAIM_TEMPLATE_COLUMNS = (NAME, AGE)

RESOURCE_SLICE_COLUMNS = (
    NAME,
    Column("Node", "string", field("spec", "nodeName")),
    Column("Driver", "string", field("spec", "driver")),
    Column("Pool", "string", field("spec", "pool", "name")),
    AGE,
)
