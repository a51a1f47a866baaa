"""DaemonSets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.apps.workload import (
    TEMPLATE,
    Workload,
    check_at_most_all,
    check_collisions,
    check_counts,
    check_labels_selected,
    check_number_or_percent,
    check_runs_for_ever,
    go_rolling_update,
    is_understood,
    is_zero,
)
from apiserver.resources.checks import (
    NO_FIELDS,
    Errors,
    check_label_selector,
    check_not_negative,
    check_selector_kept,
    go_selector,
)
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.pods.pod_template import check_pod_template
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

# Where the v1 API keeps how often the template changed, which older versions had as a field.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
STRATEGIES = ("RollingUpdate", "OnDelete")
ROLLING_DEFAULTS = {"maxUnavailable": 1, "maxSurge": 0}
ROLLING_ZEROS = {"maxUnavailable": 0, "maxSurge": 0}  # where it means nothing; the internal type has no unset ones
COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


class DaemonSetStrategy(Workload):
    warns_of_long_names = False

    def default_spec(self, spec: Object, obj: Object) -> None:
        fill(spec, {"revisionHistoryLimit": 10})
        strategy = spec.setdefault("updateStrategy", {})
        fill_empty(strategy, {"type": "RollingUpdate"})
        if strategy["type"] == "RollingUpdate":
            fill(strategy.setdefault("rollingUpdate", {}), ROLLING_DEFAULTS)
        elif (rolling := strategy.get("rollingUpdate")) is not None:
            fill(rolling, ROLLING_ZEROS)

    def add_zeros(self, obj: Object) -> None:
        _set_template_generation(obj, 0)

    def blank_status(self, obj: Object) -> Object:
        return {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_for_update(self, new: Object, old: Object) -> None:
        generation = _template_generation(old)
        if not same(new["spec"].get("template"), old["spec"].get("template")):
            generation += 1
        _set_template_generation(new, generation)
        super().prepare_for_update(new, old)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Only where the template changed."""
        return () if subresource or _template_generation(new) == _template_generation(old) else self.spec_warnings(new)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        selector, template = spec.get("selector"), spec.get("template") or NO_FIELDS
        check_label_selector(selector, "spec.selector", errors)
        if is_understood(selector):
            check_labels_selected(selector, template, errors)
        if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
            errors.append(
                field.invalid("spec.selector", go_selector(selector), "empty selector is invalid for daemonset")
            )
        check_pod_template(template, TEMPLATE, errors)
        check_runs_for_ever(template, "DaemonSet", errors)
        check_not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds", errors)
        check_not_negative(_template_generation(obj), "spec.templateGeneration", errors)
        _check_update_strategy(spec.get("updateStrategy") or NO_FIELDS, "spec.updateStrategy", errors)
        check_not_negative(spec.get("revisionHistoryLimit", 0), "spec.revisionHistoryLimit", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_selector_kept(new["spec"].get("selector"), old["spec"].get("selector"), errors)
        self.check(new, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_counts(status, COUNTS, errors)
        check_collisions(status, old.get("status") or NO_FIELDS, errors)


def _template_generation(obj: Json) -> int:
    text = (obj["metadata"].get("annotations") or NO_FIELDS).get(TEMPLATE_GENERATION, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _set_template_generation(obj: Object, generation: int) -> None:
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(generation)


def _check_update_strategy(strategy: Json, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        value = {"Type": kind, "RollingUpdate": go_rolling_update(rolling)}
        errors.append(field.not_supported(path, value, STRATEGIES))
    elif rolling is None:
        errors.append(field.required(f"{path}.rollingUpdate"))
    else:
        _check_rolling_update(rolling, f"{path}.rollingUpdate", errors)


def _check_rolling_update(rolling: Json, path: str, errors: Errors) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (check_number_or_percent, check_at_most_all):
        check(unavailable, f"{path}.maxUnavailable", errors)
        check(surge, f"{path}.maxSurge", errors)
    if not is_zero(unavailable) and not is_zero(surge):
        reason = "may not be set when maxUnavailable is non-zero"
        errors.append(field.invalid(f"{path}.maxSurge", surge, reason))
    elif is_zero(unavailable) and is_zero(surge):
        errors.append(field.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


DAEMON_SET = DaemonSetStrategy()
