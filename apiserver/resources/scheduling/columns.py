"""What `kubectl get priorityclasses` shows."""

from __future__ import annotations

from apiserver.printing.cells import AGE, NAME, field
from apiserver.printing.table import Column

PRIORITY_CLASS_COLUMNS = (
    NAME,
    Column("Value", "integer", field("value", default=0)),
    Column("Global-Default", "boolean", field("globalDefault", default=False)),
    AGE,
    Column("PreemptionPolicy", "string", field("preemptionPolicy")),
)
