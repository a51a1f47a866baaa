"""What `kubectl get poddisruptionbudgets` shows."""

from __future__ import annotations

from apiserver.printing.cells import AGE, NAME, field, text
from apiserver.printing.table import Column

POD_DISRUPTION_BUDGET_COLUMNS = (
    NAME,
    Column("Min Available", "string", text("spec", "minAvailable", default="N/A")),
    Column("Max Unavailable", "string", text("spec", "maxUnavailable", default="N/A")),
    Column("Allowed Disruptions", "integer", field("status", "disruptionsAllowed", default=0)),
    AGE,
)
