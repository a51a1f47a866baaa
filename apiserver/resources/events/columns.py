"""What `kubectl get events` shows: the same of core/v1 and events.k8s.io/v1, whose fields have other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apiserver.printing.cells import NAME, field
from apiserver.printing.durations import since
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject


@dataclass(frozen=True, slots=True)
class _Names:
    """What one version of Event calls its fields."""

    involved: str
    message: str
    source: str
    first: str
    last: str
    count: str
    controller: str

    def first_seen(self, event: ReadOnlyObject, now: datetime) -> str:
        return since(event.get(self.first) or event.get("eventTime"), now)

    def last_seen(self, event: ReadOnlyObject, now: datetime) -> str:
        series = event.get("series")
        if series is not None:
            return since(series.get("lastObservedTime"), now)
        return since(event[self.last], now) if event.get(self.last) else self.first_seen(event, now)

    def times_seen(self, event: ReadOnlyObject, now: datetime) -> int:
        """How often; an event without a count is a single one."""
        series = event.get("series")
        return series.get("count", 0) if series is not None else event.get(self.count) or 1

    def object(self, event: ReadOnlyObject, now: datetime) -> str:
        involved: Mapping[str, Any] = event.get(self.involved) or {}
        kind = involved.get("kind", "").lower()
        return f"{kind}/{involved['name']}" if involved.get("name") else kind

    def origin(self, event: ReadOnlyObject, now: datetime) -> str:
        """Who reported it, and from where if that is known."""
        source: Mapping[str, Any] = event.get(self.source) or {}
        component = source.get("component") or event.get(self.controller) or ""
        instance = source.get("host") or event.get("reportingInstance")
        return f"{component}, {instance}" if instance else component

    def text(self, event: ReadOnlyObject, now: datetime) -> str:
        return event.get(self.message, "").strip()


_CORE = _Names(
    involved="involvedObject",
    message="message",
    source="source",
    first="firstTimestamp",
    last="lastTimestamp",
    count="count",
    controller="reportingComponent",
)
_EVENTS = _Names(
    involved="regarding",
    message="note",
    source="deprecatedSource",
    first="deprecatedFirstTimestamp",
    last="deprecatedLastTimestamp",
    count="deprecatedCount",
    controller="reportingController",
)


def _columns(names: _Names) -> tuple[Column, ...]:
    return (
        Column("Last Seen", "string", names.last_seen),
        Column("Type", "string", field("type")),
        Column("Reason", "string", field("reason")),
        Column("Object", "string", names.object),
        Column("Subobject", "string", field(names.involved, "fieldPath"), priority=1),
        Column("Source", "string", names.origin, priority=1),
        Column("Message", "string", names.text),
        Column("First Seen", "string", names.first_seen, priority=1),
        Column("Count", "string", names.times_seen, priority=1),
        Column(NAME.name, NAME.type, NAME.cell, format=NAME.format, priority=1),
    )


EVENT_COLUMNS = _columns(_CORE)
EVENTS_GROUP_COLUMNS = _columns(_EVENTS)
