"""PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.apps.workload import check_at_most_all, check_counts, check_number_or_percent
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_label_selector, check_one_of, go_selector
from apiserver.resources.conditions import check_conditions
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class PodDisruptionBudgetStrategy(SpecKind):
    rechecks_change = False
    looks_at_metadata = False
    allow_unconditional_update = False

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        """Upstream never looks at a budget's name."""
        return validation.path_segment_errors(name, is_prefix)

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {})

    def blank_status(self, obj: Object) -> Object:
        return dict.fromkeys(COUNTS, 0)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        bounds = [name for name in ("minAvailable", "maxUnavailable") if name in spec]
        if len(bounds) == 2:
            reason = "minAvailable and maxUnavailable cannot be both set"
            errors.append(field.invalid("spec", _go_spec(spec), reason))
        for name in bounds:
            check_number_or_percent(spec[name], f"spec.{name}", errors)
            check_at_most_all(spec[name], f"spec.{name}", errors)
        check_label_selector(spec.get("selector"), "spec.selector", errors)
        if "unhealthyPodEvictionPolicy" in spec:
            path = "spec.unhealthyPodEvictionPolicy"
            check_one_of(spec["unhealthyPodEvictionPolicy"], EVICTION_POLICIES, path, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_conditions(status.get("conditions") or NO_ITEMS, "status.conditions", errors)
        check_counts(status, COUNTS, errors)


def _go_spec(spec: Json) -> Json:
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": go_selector(spec.get("selector")),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }


POD_DISRUPTION_BUDGET = PodDisruptionBudgetStrategy()
