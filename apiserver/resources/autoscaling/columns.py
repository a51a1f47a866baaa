"""What `kubectl get hpa` shows.

HorizontalPodAutoscalers are stored, and printed, as autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.printing.cells import AGE, NAME, NONE, UNSET, field, limited
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject

_SHOWN = 2  # metrics beyond these are only counted
_UNKNOWN = "<unknown>"
_FIELD_OF = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _reference(autoscaler: ReadOnlyObject, now: datetime) -> str:
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _targets(autoscaler: ReadOnlyObject, now: datetime) -> str:
    specs = (autoscaler.get("spec") or {}).get("metrics")
    statuses: Sequence[Mapping[str, Any]] = (autoscaler.get("status") or {}).get("currentMetrics") or ()
    if not specs:
        return NONE
    shown = [_target(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs)]
    return limited(shown[:_SHOWN], len(shown), ", ")


def _target(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """`measured/wanted` of one metric: an average where one is asked for, else a share or a value."""
    kind = spec.get("type", "")
    if kind not in _FIELD_OF:
        return "<unknown type>"
    metric = spec.get(_FIELD_OF[kind]) or {}
    target = metric.get("target") or {}
    measured = status.get(_FIELD_OF[kind])
    current = (measured or {}).get("current") or {}
    # Of a metric that was measured otherwise than it is asked for, the real server prints a nil pointer.
    absent = _UNKNOWN if measured is None else "<nil>"
    if kind == "Pods":
        return f"{current.get('averageValue', absent)}/{target.get('averageValue', '0')}"
    if kind in ("External", "Object"):
        if "averageValue" in target:
            return f"{current.get('averageValue', _UNKNOWN)}/{target['averageValue']} (avg)"
        return f"{current.get('value', absent)}/{target.get('value', '0')}"
    if "averageValue" in target:
        return f"{metric.get('name', '')}: {current.get('averageValue', absent)}/{target['averageValue']}"
    wanted = _percentage(target.get("averageUtilization"), "<auto>")
    return f"{metric.get('name', '')}: {_percentage(current.get('averageUtilization'), _UNKNOWN)}/{wanted}"


def _percentage(share: int | None, unset: str) -> str:
    return unset if share is None else f"{share}%"


def _minimum(autoscaler: ReadOnlyObject, now: datetime) -> str:
    minimum = (autoscaler.get("spec") or {}).get("minReplicas")
    return UNSET if minimum is None else str(minimum)


HORIZONTAL_POD_AUTOSCALER_COLUMNS = (
    NAME,
    Column("Reference", "string", _reference),
    Column("Targets", "string", _targets),
    Column("MinPods", "string", _minimum),
    Column("MaxPods", "string", field("spec", "maxReplicas", default=0)),
    Column("Replicas", "string", field("status", "currentReplicas", default=0)),
    AGE,
)
