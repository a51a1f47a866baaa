"""The columns of a Scale, which `kubectl get --subresource=scale` shows: of a built-in workload, and of a custom one.

Facts: printScale of pkg/printers/internalversion, getScaleColumnsForVersion of apiextensions-apiserver (v1.36).
"""

from __future__ import annotations

from apiserver.printing.cells import AGE, field
from apiserver.printing.custom import custom_columns
from apiserver.printing.table import Column

SCALE_COLUMNS = (
    Column("Name", "string", field("metadata", "name")),
    Column("Desired", "integer", field("spec", "replicas", default=0)),
    Column("Available", "integer", field("status", "replicas", default=0)),
    AGE,
)

CUSTOM_SCALE_COLUMNS = custom_columns(
    (
        {
            "name": "Desired",
            "type": "integer",
            "description": "Number of desired replicas",
            "jsonPath": ".spec.replicas",
        },
        {
            "name": "Available",
            "type": "integer",
            "description": "Number of actual replicas",
            "jsonPath": ".status.replicas",
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    )
)
