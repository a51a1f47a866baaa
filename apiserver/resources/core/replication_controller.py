"""ReplicationControllers: what ReplicaSets were before selectors had operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver.resources.apps.workload import (
    HOSTNAME_WARNING,
    TEMPLATE,
    check_at_most_replicas,
    check_counts,
    check_runs_for_ever,
    has_new_generation,
)
from apiserver.resources.checks import NO_FIELDS, Errors, check_not_negative, go_map
from apiserver.resources.filling import fill
from apiserver.resources.kinds import FieldMap, SpecKind
from apiserver.resources.pods.defaults import default_pod_template
from apiserver.resources.pods.pod_template import check_pod_template, drop_disabled_fields
from apiserver.resources.pods.warnings import template_warnings
from kubeloop.apimachinery import field, selectors, validation
from kubeloop.apimachinery.meta import Object

COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
FIELDS = FieldMap({"status.replicas": ("status", "replicas")}, {"status.replicas": "0"})


class ReplicationControllerStrategy(SpecKind):
    orphans_by_default = True

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        """Of a prefix only what is made from it is looked at."""
        return () if is_prefix else validation.long_name_errors(name)

    def default(self, obj: Object) -> None:
        """The template's labels serve as selector and as labels of the controller, where these are not given."""
        spec = obj.setdefault("spec", {})
        fill(spec, {"replicas": 1})
        template = spec.get("template")
        if template is None:
            return
        if labels := (template.get("metadata") or NO_FIELDS).get("labels"):
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        default_pod_template(template)

    def blank_status(self, obj: Object) -> Object:
        return {"replicas": 0}

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        if "template" in obj["spec"]:
            drop_disabled_fields(obj["spec"]["template"]["spec"])

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        selector, template = spec.get("selector") or NO_FIELDS, spec.get("template")
        check_not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds", errors)
        if not selector:
            errors.append(field.required("spec.selector"))
        check_not_negative(spec.get("replicas", 0), "spec.replicas", errors)
        if template is None:
            errors.append(field.required(TEMPLATE))
            return
        labels = (template.get("metadata") or NO_FIELDS).get("labels")
        if selector and not selectors.from_labels(selector).matches(labels or NO_FIELDS):
            reason = "`selector` does not match template `labels`"
            errors.append(field.invalid(f"{TEMPLATE}.metadata.labels", go_map(labels), reason))
        check_pod_template(template, TEMPLATE, errors)
        check_runs_for_ever(template, "ReplicationController", errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_counts(status, COUNTS, errors)
        counts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        check_at_most_replicas(status, counts, errors, ready_word="readyReplicas")

    def warnings(self, obj: Object) -> Sequence[str]:
        warnings = []
        if reasons := validation.dns_label_errors(obj["metadata"].get("name", "")):
            warnings.append(HOSTNAME_WARNING.format(reasons=" ".join(reasons)))
        return warnings + template_warnings(obj["spec"].get("template"), f"{TEMPLATE}.")

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Of the old template: upstream mixes the two up."""
        if subresource or not has_new_generation(new, old):
            return ()
        return template_warnings(old["spec"].get("template"), f"{TEMPLATE}.")

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


REPLICATION_CONTROLLER = ReplicationControllerStrategy()
