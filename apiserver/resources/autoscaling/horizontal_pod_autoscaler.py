"""HorizontalPodAutoscalers, in the stored version (autoscaling/v2)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Check,
    Errors,
    check_dns_label,
    check_not_negative,
    check_with,
)
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.resource_names import check_container_resource_name
from kubeloop.apimachinery import field, quantity, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULT_METRICS: Sequence[Json] = (
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
)
SCALE_UP: Json = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
SCALE_DOWN: Json = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
SELECT_POLICIES = ("Disabled", "Max", "Min")
POLICY_TYPES = ("Percent", "Pods")
TARGET_TYPES = ("Utilization", "Value", "AverageValue")
METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
MAX_PERIOD_SECONDS = 1800
MAX_WINDOW_SECONDS = 3600
# Where v1 keeps what it has no fields for; such annotations never reach the store.
ROUND_TRIP_ANNOTATIONS = tuple(
    f"autoscaling.alpha.kubernetes.io/{name}" for name in ("metrics", "behavior", "current-metrics", "conditions")
)


class HorizontalPodAutoscalerStrategy(PlainKind):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics"):
            spec["metrics"] = copy.deepcopy(list(DEFAULT_METRICS))
        if (behavior := spec.get("behavior")) is not None:
            behavior["scaleUp"] = {**copy.deepcopy(SCALE_UP), **(behavior.get("scaleUp") or NO_FIELDS)}
            behavior["scaleDown"] = {**copy.deepcopy(SCALE_DOWN), **(behavior.get("scaleDown") or NO_FIELDS)}
        if annotations := obj["metadata"].get("annotations"):
            for key in ROUND_TRIP_ANNOTATIONS:
                annotations.pop(key, None)
            if not annotations:
                del obj["metadata"]["annotations"]

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"desiredReplicas": 0, "currentMetrics": None}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        low, high = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
        if low < 1:
            errors.append(field.invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
        if not high:
            errors.append(field.required("spec.maxReplicas", "must be set and greater than 0"))
        elif high < 0:
            errors.append(field.invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
        if high < low:
            reason = "must be greater than or equal to `minReplicas`"
            errors.append(field.invalid("spec.maxReplicas", high, reason))
        target = spec.get("scaleTargetRef") or NO_FIELDS
        # The one kind of the core group that can be scaled.
        needed = target.get("kind") != "ReplicationController"
        _check_reference(target, "spec.scaleTargetRef", errors, group_needed=needed)
        metrics = spec.get("metrics") or NO_ITEMS
        for i, metric in enumerate(metrics):
            _check_metric(metric, f"spec.metrics[{i}]", errors)
        if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
            reason = "must specify at least one Object or External metric to support scaling to zero replicas"
            errors.append(field.forbidden("spec.metrics", reason))
        for name in ("scaleUp", "scaleDown"):
            if (rules := (spec.get("behavior") or NO_FIELDS).get(name)) is not None:
                _check_rules(rules, f"spec.behavior.{name}", errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        for name in ("currentReplicas", "desiredReplicas"):
            check_not_negative(status.get(name, 0), f"status.{name}", errors)


def _check_reference(reference: Json, path: str, errors: Errors, *, group_needed: bool) -> None:
    for name in ("kind", "name"):
        _check_segment(reference.get(name, ""), f"{path}.{name}", errors)
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        reason = f"unexpected GroupVersion string: {version}"
        errors.append(field.invalid(f"{path}.apiVersion", version, reason))
    elif group_needed and not version.rpartition("/")[0]:
        errors.append(field.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))


def _check_segment(value: str, path: str, errors: Errors, why_required: str = "") -> None:
    if value:
        check_with(validation.path_segment_errors(value), value, path, errors)
    else:
        errors.append(field.required(path, why_required))


def _check_rules(rules: Json, path: str, errors: Errors) -> None:
    window, at = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(field.invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > MAX_WINDOW_SECONDS:
        errors.append(field.invalid(at, window, f"must be less than or equal to {MAX_WINDOW_SECONDS}"))
    if rules.get("selectPolicy") is not None and rules["selectPolicy"] not in SELECT_POLICIES:
        errors.append(field.not_supported(f"{path}.selectPolicy", rules["selectPolicy"], SELECT_POLICIES))
    if not rules.get("policies"):
        errors.append(field.required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(rules.get("policies") or NO_ITEMS):
        _check_policy(policy, f"{path}.policies[{i}]", errors)
    if rules.get("tolerance") is not None:
        tolerance = quantity.parse(rules["tolerance"])
        if tolerance.sign < 0:
            errors.append(field.invalid(f"{path}.tolerance", str(tolerance), validation.MUST_BE_NON_NEGATIVE))


def _check_policy(policy: Json, path: str, errors: Errors) -> None:
    if policy.get("type") not in POLICY_TYPES:
        errors.append(field.not_supported(f"{path}.type", policy.get("type", ""), POLICY_TYPES))
    for name in ("value", "periodSeconds"):
        if policy.get(name, 0) <= 0:
            errors.append(field.invalid(f"{path}.{name}", policy.get(name, 0), "must be greater than zero"))
    period = policy.get("periodSeconds", 0)
    if period > MAX_PERIOD_SECONDS:
        reason = f"must be less than or equal to {MAX_PERIOD_SECONDS}"
        errors.append(field.invalid(f"{path}.periodSeconds", period, reason))


def _check_metric(metric: Json, path: str, errors: Errors) -> None:
    """One source, and the one that `type` names."""
    kind = metric.get("type", "")
    if not kind:
        errors.append(field.required(f"{path}.type", "must specify a metric source type"))
    if kind not in METRIC_TYPES:
        errors.append(field.not_supported(f"{path}.type", kind, METRIC_TYPES))
    present = [name for name, _ in SOURCES if name in metric]
    if present:
        dict(SOURCES)[present[0]](metric[present[0]], f"{path}.{present[0]}", errors)
    expected = kind[:1].lower() + kind[1:]
    if kind not in METRIC_TYPES:
        errors.append(field.not_supported(f"{path}.type", kind, METRIC_TYPES))
        expected = ""
    elif expected not in metric:
        reason = "must populate information for the given metric source"
        errors.append(field.required(f"{path}.{expected}", reason))
    if len(present) != 1:
        for name in present:
            if name != expected:
                errors.append(field.forbidden(f"{path}.{name}", "must populate the given metric source only"))


def _check_object(source: Json, path: str, errors: Errors) -> None:
    described = source.get("describedObject") or NO_FIELDS
    _check_reference(described, f"{path}.describedObject", errors, group_needed=False)
    target = _check_identifier_and_target(source, path, errors)
    if "value" not in target and "averageValue" not in target:
        reason = "must set either a target value or averageValue"
        errors.append(field.required(f"{path}.target.averageValue", reason))


def _check_external(source: Json, path: str, errors: Errors) -> None:
    target = _check_identifier_and_target(source, path, errors)
    if "value" not in target and "averageValue" not in target:
        reason = "must set either a target value for metric or a per-pod target"
        errors.append(field.required(f"{path}.target.averageValue", reason))
    if "value" in target and "averageValue" in target:
        reason = "may not set both a target value for metric and a per-pod target"
        errors.append(field.forbidden(f"{path}.target.value", reason))


def _check_pods(source: Json, path: str, errors: Errors) -> None:
    target = _check_identifier_and_target(source, path, errors)
    if "averageValue" not in target:
        reason = "must specify a positive target averageValue"
        errors.append(field.required(f"{path}.target.averageValue", reason))


def _check_resource(source: Json, path: str, errors: Errors) -> None:
    if not source.get("name"):
        errors.append(field.required(f"{path}.name", "must specify a resource name"))
    _check_resource_target(source.get("target") or NO_FIELDS, f"{path}.target", errors)


def _check_container_resource(source: Json, path: str, errors: Errors) -> None:
    if source.get("name"):
        check_container_resource_name(source["name"], f"{path}.name", errors)
    else:
        errors.append(field.required(f"{path}.name", "must specify a resource name"))
    if source.get("container"):
        check_dns_label(source["container"], f"{path}.container", errors)
    else:
        errors.append(field.required(f"{path}.container", "must specify a container"))
    _check_resource_target(source.get("target") or NO_FIELDS, f"{path}.target", errors)


def _check_resource_target(target: Json, path: str, errors: Errors) -> None:
    _check_target(target, path, errors)
    if "averageUtilization" not in target and "averageValue" not in target:
        reason = "must set either a target raw value or a target utilization"
        errors.append(field.required(f"{path}.averageUtilization", reason))
    if "averageUtilization" in target and "averageValue" in target:
        reason = "may not set both a target raw value and a target utilization"
        errors.append(field.forbidden(f"{path}.averageValue", reason))


def _check_identifier_and_target(source: Json, path: str, errors: Errors) -> Json:
    name = (source.get("metric") or NO_FIELDS).get("name", "")
    _check_segment(name, f"{path}.metric.name", errors, "must specify a metric name")
    target: Json = source.get("target") or NO_FIELDS
    _check_target(target, f"{path}.target", errors)
    return target


def _check_target(target: Json, path: str, errors: Errors) -> None:
    kind = target.get("type", "")
    if not kind:
        errors.append(field.required(f"{path}.type", "must specify a metric target type"))
    if kind not in TARGET_TYPES:
        reason = "must be either Utilization, Value, or AverageValue"
        errors.append(field.invalid(f"{path}.type", kind, reason))
    for name in ("value", "averageValue"):
        if name in target and quantity.parse(target[name]).sign <= 0:
            amount = str(quantity.parse(target[name]))
            errors.append(field.invalid(f"{path}.{name}", amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(field.invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))


SOURCES: tuple[tuple[str, Check], ...] = (
    ("object", _check_object),
    ("external", _check_external),
    ("pods", _check_pods),
    ("resource", _check_resource),
    ("containerResource", _check_container_resource),
)
HORIZONTAL_POD_AUTOSCALER = HorizontalPodAutoscalerStrategy()
