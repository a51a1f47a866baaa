"""What all kinds that make pods from a template share: the template itself, its selector, counts in the status."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    Errors,
    check_label_selector,
    check_not_negative,
    check_with,
    go_map,
    go_selector,
)
from apiserver.resources.kinds import SpecKind
from apiserver.resources.pods.defaults import default_pod_template
from apiserver.resources.pods.pod_template import check_pod_template, drop_disabled_fields
from apiserver.resources.pods.warnings import template_warnings
from kubeloop.apimachinery import field, selectors, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

TEMPLATE = "spec.template"
HOSTNAME_WARNING = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: [{reasons}]"
)

_is_integer = re.compile("[+-]?[0-9]+").fullmatch


class Workload(SpecKind):
    """A kind with `spec.template`."""

    warns_of_long_names = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        self.default_spec(spec, obj)

    def add_zeros(self, obj: Object) -> None:
        """Upstream's internal types know no unset number of replicas."""
        obj["spec"]["replicas"] = 0

    def default_spec(self, spec: Object, obj: Object) -> None:
        """The kind's own defaults."""

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        drop_disabled_fields(obj["spec"]["template"]["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        drop_disabled_fields(new["spec"]["template"]["spec"])
        super().prepare_for_update(new, old)

    def warnings(self, obj: Object) -> Sequence[str]:
        warnings = []
        name = obj["metadata"].get("name", "")
        if self.warns_of_long_names and (reasons := validation.dns_label_errors(name)):
            warnings.append(HOSTNAME_WARNING.format(reasons=" ".join(reasons)))
        return warnings + self.spec_warnings(obj)

    def spec_warnings(self, obj: Object) -> list[str]:
        """Those of what is in the object, whatever its name."""
        return template_warnings(obj["spec"].get("template"), f"{TEMPLATE}.")

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Only where something changed; the name was warned of at creation."""
        if subresource or not has_new_generation(new, old):
            return ()
        return self.spec_warnings(new)


def has_new_generation(new: Object, old: Object) -> bool:
    return bool(new["metadata"].get("generation") != old["metadata"].get("generation"))


def check_selector(selector: Json | None, kind: str, errors: Errors) -> None:
    """A workload's selector must be there and select something; `kind` is whom the refusal speaks of."""
    if selector is None:
        errors.append(field.required("spec.selector"))
        return
    check_label_selector(selector, "spec.selector", errors)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(field.invalid("spec.selector", go_selector(selector), f"empty selector is invalid for {kind}"))


def check_selected_template(spec: Json, refusal: str, kind: str, errors: Errors) -> None:
    """The selector matches the template's labels; the template is good, and its pods run for ever.

    `refusal` is said where the selector cannot be understood; `kind` is who does not support deadlines.
    """
    selector = spec.get("selector")
    if not is_understood(selector):
        errors.append(field.invalid("spec.selector", go_selector(selector), refusal))
        return
    template = spec.get("template") or NO_FIELDS
    check_labels_selected(selector, template, errors)
    check_pod_template(template, TEMPLATE, errors)
    check_runs_for_ever(template, kind, errors)


def check_labels_selected(selector: Json | None, template: Json, errors: Errors) -> None:
    compiled = selectors.from_label_selector(selector)
    labels = (template.get("metadata") or NO_FIELDS).get("labels")
    if not compiled.is_empty and not compiled.matches(labels or NO_FIELDS):
        reason = "`selector` does not match template `labels`"
        errors.append(field.invalid(f"{TEMPLATE}.metadata.labels", go_map(labels), reason))


def check_runs_for_ever(template: Json, kind: str, errors: Errors) -> None:
    spec = template.get("spec") or NO_FIELDS
    if spec.get("restartPolicy") != "Always":
        at = f"{TEMPLATE}.spec.restartPolicy"
        errors.append(field.not_supported(at, spec.get("restartPolicy", ""), ("Always",)))
    if "activeDeadlineSeconds" in spec:
        reason = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field.forbidden(f"{TEMPLATE}.spec.activeDeadlineSeconds", reason))


def is_understood(selector: Json | None) -> bool:
    try:
        selectors.from_label_selector(selector)
    except selectors.SelectorError:
        return False
    return True


def check_counts(status: Json, names: Iterable[str], errors: Errors) -> None:
    """Numbers in a status are not negative."""
    for name in names:
        check_not_negative(status.get(name) or 0, f"status.{name}", errors)


def check_at_most_replicas(status: Json, names: Iterable[str], errors: Errors, *, ready_word: str) -> None:
    """No count exceeds `status.replicas`, and what is available is ready."""
    for name in names:
        if (count := status.get(name, 0)) > status.get("replicas", 0):
            errors.append(field.invalid(f"status.{name}", count, "cannot be greater than status.replicas"))
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        reason = f"cannot be greater than {ready_word}"
        errors.append(field.invalid("status.availableReplicas", available, reason))


def check_collisions(new: Json, old: Json, errors: Errors) -> None:
    """How often a name was taken already is never forgotten."""
    before, after = old.get("collisionCount"), new.get("collisionCount")
    if before is not None and (after is None or after < before):
        errors.append(field.invalid("status.collisionCount", after or 0, "cannot be decremented"))


def check_number_or_percent(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str):
        check_with(validation.percent_errors(value), value, path, errors)
    else:
        check_not_negative(value, path, errors)


def go_rolling_update(rolling: Json | None) -> Json | None:
    """A rolling update as Go prints it: what is unset is 0."""
    if rolling is None:
        return None
    return {"MaxUnavailable": rolling.get("maxUnavailable", 0), "MaxSurge": rolling.get("maxSurge", 0)}


def check_at_most_all(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str) and not validation.percent_errors(value) and int(value[:-1]) > 100:
        errors.append(field.invalid(path, value, "must not be greater than 100%"))


def is_zero(value: Any) -> bool:
    """Whether a number or percentage is none at all.

    Text that is no percentage was refused already; it still counts as the number it spells, or as none.
    """
    if not isinstance(value, str):
        return not value
    number = value if validation.percent_errors(value) else value[:-1]
    return not _is_integer(number) or int(number) == 0
