"""What `kubectl get` shows of flow schemas and priority levels."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, field
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of


def _precedence(flow_schema: ReadOnlyObject) -> tuple[int, str]:
    return (flow_schema.get("spec") or {}).get("matchingPrecedence", 0), name_of(flow_schema)


def _missing_level(flow_schema: ReadOnlyObject, now: datetime) -> str:
    conditions = (flow_schema.get("status") or {}).get("conditions") or ()
    return next((one.get("status", "") for one in conditions if one["type"] == "Dangling"), "?")


FLOW_SCHEMA_COLUMNS = (
    NAME,
    Column("PriorityLevel", "string", field("spec", "priorityLevelConfiguration", "name")),
    Column("MatchingPrecedence", "string", field("spec", "matchingPrecedence", default=0), order=_precedence),
    Column("DistinguisherMethod", "string", field("spec", "distinguisherMethod", "type", default=NONE)),
    AGE,
    Column("MissingPL", "string", _missing_level),
)

_QUEUING = ("spec", "limited", "limitResponse", "queuing")

PRIORITY_LEVEL_CONFIGURATION_COLUMNS = (
    NAME,
    Column("Type", "string", field("spec", "type")),
    Column("NominalConcurrencyShares", "string", field("spec", "limited", "nominalConcurrencyShares", default=NONE)),
    Column("Queues", "string", field(*_QUEUING, "queues", default=NONE)),
    Column("HandSize", "string", field(*_QUEUING, "handSize", default=NONE)),
    Column("QueueLengthLimit", "string", field(*_QUEUING, "queueLengthLimit", default=NONE)),
    AGE,
)
