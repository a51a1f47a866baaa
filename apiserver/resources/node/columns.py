"""What `kubectl get runtimeclasses` shows."""

from __future__ import annotations

from apiserver.printing.cells import AGE, NAME, field
from apiserver.printing.table import Column

RUNTIME_CLASS_COLUMNS = (
    NAME,
    Column("Handler", "string", field("handler")),
    AGE,
)
