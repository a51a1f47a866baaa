"""events.k8s.io/v1 to and from core/v1, in which events are stored: the same facts under other names."""

from __future__ import annotations

from kubeloop.apimachinery.meta import Object

# events.k8s.io/v1 -> core/v1
NAMES = {
    "reportingController": "reportingComponent",
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
STORED_NAMES = {stored: served for served, stored in NAMES.items()}


def to_stored(event: Object) -> Object:
    return {NAMES.get(name, name): value for name, value in event.items()}


# What core/v1 always writes and events.k8s.io/v1 leaves out where it is empty.
LEFT_OUT_EMPTY = ("reportingComponent", "reportingInstance")


def from_stored(event: Object) -> Object:
    return {STORED_NAMES.get(name, name): value for name, value in event.items() if value or name not in LEFT_OUT_EMPTY}
