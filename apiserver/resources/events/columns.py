"""What `kubectl get events` shows, of both core/v1 and events.k8s.io/v1: they are stored, and printed, as core/v1."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.printing.cells import NAME, field
from apiserver.printing.durations import since
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject


def _first_seen(event: ReadOnlyObject, now: datetime) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: ReadOnlyObject, now: datetime) -> str:
    series = event.get("series")
    if series is not None:
        return since(series.get("lastObservedTime"), now)
    return since(event["lastTimestamp"], now) if event.get("lastTimestamp") else _first_seen(event, now)


def _times_seen(event: ReadOnlyObject, now: datetime) -> int:
    """How often; an event without a count is a single one."""
    series = event.get("series")
    return series.get("count", 0) if series is not None else event.get("count") or 1


def _object(event: ReadOnlyObject, now: datetime) -> str:
    involved: Mapping[str, Any] = event.get("involvedObject") or {}
    kind = involved.get("kind", "").lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _origin(event: ReadOnlyObject, now: datetime) -> str:
    """Who reported it, and from where if that is known."""
    source: Mapping[str, Any] = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


EVENT_COLUMNS = (
    Column("Last Seen", "string", _last_seen),
    Column("Type", "string", field("type")),
    Column("Reason", "string", field("reason")),
    Column("Object", "string", _object),
    Column("Subobject", "string", field("involvedObject", "fieldPath"), priority=1),
    Column("Source", "string", _origin, priority=1),
    Column("Message", "string", lambda event, now: event.get("message", "").strip()),
    Column("First Seen", "string", _first_seen, priority=1),
    Column("Count", "string", _times_seen, priority=1),
    Column(NAME.name, NAME.type, NAME.cell, format=NAME.format, priority=1),
)
