"""Deployments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.apps.workload import (
    Workload,
    check_at_most_all,
    check_at_most_replicas,
    check_collisions,
    check_counts,
    check_number_or_percent,
    check_selected_template,
    check_selector,
    go_rolling_update,
    is_zero,
)
from apiserver.resources.checks import NO_FIELDS, Errors, check_not_negative, check_selector_kept
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.kinds import carry_over
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULTS = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
ROLLING_DEFAULTS = {"maxUnavailable": "25%", "maxSurge": "25%"}
STRATEGIES = ("Recreate", "RollingUpdate")
COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


class DeploymentStrategy(Workload):
    """Generation counts changes of annotations too: the controller copies them to its replica sets."""

    def default_spec(self, spec: Object, obj: Object) -> None:
        fill(spec, DEFAULTS)
        strategy = spec.setdefault("strategy", {})
        fill_empty(strategy, {"type": "RollingUpdate"})
        if strategy["type"] == "RollingUpdate":
            fill(strategy.setdefault("rollingUpdate", {}), ROLLING_DEFAULTS)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_not_negative(spec.get("replicas", 0), "spec.replicas", errors)
        check_selector(spec.get("selector"), "deployment", errors)
        check_selected_template(spec, "invalid label selector", "ReplicaSet", errors)
        _check_strategy(spec.get("strategy") or NO_FIELDS, "spec.strategy", errors)
        check_not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds", errors)
        check_not_negative(spec.get("revisionHistoryLimit", 0), "spec.revisionHistoryLimit", errors)
        _check_deadline(spec, errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        check_selector_kept(new["spec"].get("selector"), old["spec"].get("selector"), errors)

    def spec_changed(self, new: Object, old: Object) -> bool:
        annotations = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
        return annotations[0] != annotations[1] or not same(new.get("spec"), old.get("spec"))

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        carry_over(new["metadata"], old["metadata"], "labels")

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_counts(status, COUNTS, errors)
        counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
        check_at_most_replicas(status, counts, errors, ready_word="readyReplicas")
        check_collisions(status, old.get("status") or NO_FIELDS, errors)


def _check_strategy(strategy: Json, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            reason = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(field.forbidden(f"{path}.rollingUpdate", reason))
    elif kind == "RollingUpdate":
        _check_rolling_update(rolling or NO_FIELDS, f"{path}.rollingUpdate", errors)
    else:
        value = {"Type": kind, "RollingUpdate": go_rolling_update(rolling)}
        errors.append(field.not_supported(path, value, STRATEGIES))


def _check_rolling_update(rolling: Json, path: str, errors: Errors) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    check_number_or_percent(unavailable, f"{path}.maxUnavailable", errors)
    check_number_or_percent(surge, f"{path}.maxSurge", errors)
    if is_zero(unavailable) and is_zero(surge):
        reason = "may not be 0 when `maxSurge` is 0"
        errors.append(field.invalid(f"{path}.maxUnavailable", unavailable, reason))
    check_at_most_all(unavailable, f"{path}.maxUnavailable", errors)


def _check_deadline(spec: Json, errors: Errors) -> None:
    deadline, path = spec.get("progressDeadlineSeconds"), "spec.progressDeadlineSeconds"
    if deadline is not None:
        check_not_negative(deadline, path, errors)
        if deadline <= spec.get("minReadySeconds", 0):
            errors.append(field.invalid(path, deadline, "must be greater than minReadySeconds"))


DEPLOYMENT = DeploymentStrategy()
