"""autoscaling/v1 to and from v2, in which autoscalers are stored.

v1 has a field for one metric, CPU utilisation. All else it carries as JSON in annotations, in its own spelling of a
metric; those annotations exist only on the way out and in again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, BEHAVIOR = f"{PREFIX}metrics", f"{PREFIX}behavior"
CURRENT_METRICS, CONDITIONS = f"{PREFIX}current-metrics", f"{PREFIX}conditions"
DEFAULT_UTILIZATION = 80
# The sources whose metric is named by `metricName`; the others name a resource.
NAMED_SOURCES = ("object", "pods", "external")


def to_stored(autoscaler: Object) -> Object:
    """v1 -> v2."""
    spec, status = dict(autoscaler.get("spec") or NO_FIELDS), dict(autoscaler.get("status") or NO_FIELDS)
    annotations = dict((autoscaler.get("metadata") or NO_FIELDS).get("annotations") or NO_FIELDS)
    metrics = [_metric_to_stored(metric) for metric in _parsed(annotations, METRICS) or NO_ITEMS]
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is not None:
        metrics.append(_cpu_metric(utilization))
    spec["metrics"] = metrics or [_cpu_metric(DEFAULT_UTILIZATION)]
    if behavior := _parsed(annotations, BEHAVIOR):
        spec["behavior"] = behavior
    stored = {**autoscaler, "metadata": _without_annotations(autoscaler.get("metadata") or NO_FIELDS), "spec": spec}
    current = status.pop("currentCPUUtilizationPercentage", None)
    if (listed := _parsed(annotations, CURRENT_METRICS)) is not None:
        status["currentMetrics"] = [_status_to_stored(metric) for metric in listed]
    elif current is not None:
        cpu = {"name": "cpu", "current": {"averageUtilization": current}}
        status["currentMetrics"] = [{"type": "Resource", "resource": cpu}]
    if (conditions := _parsed(annotations, CONDITIONS)) is not None:
        status["conditions"] = conditions
    if status:
        stored["status"] = status
    return stored


def from_stored(autoscaler: Object) -> Object:
    """v2 -> v1."""
    spec, status = dict(autoscaler.get("spec") or NO_FIELDS), dict(autoscaler.get("status") or NO_FIELDS)
    annotations: dict[str, str] = {}
    metrics = spec.pop("metrics", None) or NO_ITEMS
    cpu = next((metric for metric in metrics if _is_cpu_utilization(metric)), None)
    if cpu is not None:
        spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    if others := [_metric_from_stored(metric) for metric in metrics if not _is_cpu_utilization(metric)]:
        annotations[METRICS] = _dumped(others)
    if (behavior := spec.pop("behavior", None)) is not None:
        annotations[BEHAVIOR] = _dumped(_go_behavior(behavior))
    if current := status.pop("currentMetrics", None):
        annotations[CURRENT_METRICS] = _dumped([_status_from_stored(metric) for metric in current])
        if (utilization := _current_cpu(current)) is not None:
            status["currentCPUUtilizationPercentage"] = utilization
    if conditions := status.pop("conditions", None):
        annotations[CONDITIONS] = _dumped(conditions)
    status.setdefault("currentReplicas", 0)
    metadata = dict(autoscaler.get("metadata") or NO_FIELDS)
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or NO_FIELDS), **annotations}
    return {**autoscaler, "metadata": metadata, "spec": spec, "status": status}


def _cpu_metric(utilization: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _is_cpu_utilization(metric: Json) -> bool:
    resource = metric.get("resource") or NO_FIELDS
    target = resource.get("target") or NO_FIELDS
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and "averageUtilization" in target


def _current_cpu(metrics: Any) -> int | None:
    for metric in metrics:
        resource = metric.get("resource") or NO_FIELDS
        current = resource.get("current") or NO_FIELDS
        if resource.get("name") == "cpu" and "averageUtilization" in current:
            value: int = current["averageUtilization"]
            return value
    return None


def _metric_to_stored(metric: Json) -> Object:
    return _each_source(metric, _source_to_stored)


def _metric_from_stored(metric: Json) -> Object:
    return _each_source(metric, _source_from_stored)


def _status_to_stored(metric: Json) -> Object:
    return _each_source(metric, lambda name, source: _current_to_stored(name, source))


def _status_from_stored(metric: Json) -> Object:
    return _each_source(metric, lambda name, source: _current_from_stored(name, source))


def _each_source(metric: Json, convert: Any) -> Object:
    return {name: value if name == "type" else convert(name, value) for name, value in metric.items()}


def _source_to_stored(name: str, source: Json) -> Object:
    stored = _identity_to_stored(name, source)
    value, average = source.get("targetValue"), source.get("targetAverageValue", source.get("averageValue"))
    utilization = source.get("targetAverageUtilization")
    target: Object = {}
    if name in ("resource", "containerResource"):
        target["type"] = "AverageValue" if utilization is None else "Utilization"
    elif name == "pods" or (name == "external" and value is None) or (name == "object" and average is not None):
        target["type"] = "AverageValue"
    else:
        target["type"] = "Value"
    if name == "object" and average is not None and value in ("0", None):
        value = None
    _set(target, value=value, averageValue=average, averageUtilization=utilization)
    stored["target"] = target
    return stored


def _source_from_stored(name: str, source: Json) -> Object:
    target = source.get("target") or NO_FIELDS
    served = _identity_from_stored(name, source)
    if name == "object":
        served["targetValue"] = target.get("value", "0")
        _set(served, averageValue=target.get("averageValue"))
    elif name == "pods":
        served["targetAverageValue"] = target.get("averageValue", "0")
    else:
        _set(
            served,
            targetValue=target.get("value"),
            targetAverageValue=target.get("averageValue"),
            targetAverageUtilization=target.get("averageUtilization"),
        )
    return served


def _current_to_stored(name: str, source: Json) -> Object:
    stored = _identity_to_stored(name, source)
    current: Object = {}
    average = source.get("currentAverageValue", source.get("averageValue"))
    _set(
        current,
        value=source.get("currentValue"),
        averageValue=average,
        averageUtilization=source.get("currentAverageUtilization"),
    )
    stored["current"] = current
    return stored


def _current_from_stored(name: str, source: Json) -> Object:
    current = source.get("current") or NO_FIELDS
    served = _identity_from_stored(name, source)
    if name == "object":
        served["currentValue"] = current.get("value", "0")
        _set(served, averageValue=current.get("averageValue"))
    elif name == "external":
        served["currentValue"] = current.get("value", "0")
        _set(served, currentAverageValue=current.get("averageValue"))
    else:
        _set(served, currentAverageUtilization=current.get("averageUtilization"))
        served["currentAverageValue"] = current.get("averageValue", "0")
    return served


def _identity_to_stored(name: str, source: Json) -> Object:
    if name not in NAMED_SOURCES:
        return {key: source[key] for key in ("name", "container") if key in source}
    metric: Object = {"name": source.get("metricName", "")}
    _set(metric, selector=source.get("selector", source.get("metricSelector")))
    stored: Object = {"metric": metric}
    if name == "object":
        stored["describedObject"] = source.get("target") or {}
    return stored


def _identity_from_stored(name: str, source: Json) -> Object:
    if name not in NAMED_SOURCES:
        return {key: source[key] for key in ("name", "container") if key in source}
    metric = source.get("metric") or NO_FIELDS
    served: Object = {}
    if name == "object":
        served["target"] = source.get("describedObject") or {}
    served["metricName"] = metric.get("name", "")
    _set(served, **{"metricSelector" if name == "external" else "selector": metric.get("selector")})
    return served


def _go_behavior(behavior: Json) -> Json:
    """The behaviour as Go writes its internal form, which has no JSON names of its own."""

    def rules(value: Json | None) -> Json | None:
        if value is None:
            return None
        policies = [
            {"Type": p.get("type", ""), "Value": p.get("value", 0), "PeriodSeconds": p.get("periodSeconds", 0)}
            for p in value.get("policies") or NO_ITEMS
        ]
        return {
            "StabilizationWindowSeconds": value.get("stabilizationWindowSeconds"),
            "SelectPolicy": value.get("selectPolicy"),
            "Policies": policies or None,
            "Tolerance": value.get("tolerance"),
        }

    return {"ScaleUp": rules(behavior.get("scaleUp")), "ScaleDown": rules(behavior.get("scaleDown"))}


def _from_go(value: Any) -> Any:
    """Go reads JSON names in any case: what `_go_behavior` wrote comes back in the usual spelling."""
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _from_go(v) for name, v in value.items() if v is not None}
    return [_from_go(item) for item in value] if isinstance(value, list) else value


def _parsed(annotations: Mapping[str, str], key: str) -> Any:
    """What an annotation holds; None where it is absent or garbled, as Go ignores it then."""
    try:
        value = json.loads(annotations[key])
    except (KeyError, ValueError):
        return None
    return _from_go(value) if key == BEHAVIOR else value


def _without_annotations(metadata: Json) -> Object:
    kept = {k: v for k, v in (metadata.get("annotations") or NO_FIELDS).items() if not k.startswith(PREFIX)}
    cleaned = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**cleaned, "annotations": kept} if kept else cleaned


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _set(target: Object, **values: Any) -> None:
    target.update({name: value for name, value in values.items() if value is not None})
