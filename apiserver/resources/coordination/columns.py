"""What `kubectl get leases` shows."""

from __future__ import annotations

from apiserver.printing.cells import AGE, NAME, field
from apiserver.printing.table import Column

LEASE_COLUMNS = (
    NAME,
    Column("Holder", "string", field("spec", "holderIdentity")),
    AGE,
)
