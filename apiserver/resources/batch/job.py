"""Jobs: generated selectors, what may change while a Job is suspended, and selectable fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.apps.workload import HOSTNAME_WARNING, has_new_generation, is_understood
from apiserver.resources.batch.job_spec import (
    INDEXED,
    check_job_spec,
    default_job,
    default_job_spec,
    job_spec_warnings,
    take_template_labels,
)
from apiserver.resources.batch.job_status import check_job_status_update, is_condition_true
from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_immutable,
    check_label_selector,
    check_selector_kept,
    go_map,
    go_selector,
)
from apiserver.resources.comparison import same
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import FieldMap, SpecKind
from apiserver.resources.pods.pod_template import drop_disabled_fields
from kubeloop.apimachinery import field, selectors, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
SELECTED_LABEL = UID_LABELS[1]
# What never changes, and how Go calls it where it is more than one value.
IMMUTABLE = {
    "completionMode": "",
    "podFailurePolicy": "PodFailurePolicy",
    "backoffLimitPerIndex": "",
    "managedBy": "",
    "successPolicy": "SuccessPolicy",
}
# What may change about where pods run as long as none was made.
DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")
FIELDS = FieldMap({"status.successful": ("status", "succeeded")}, {"status.successful": "0"})


_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)


class JobStrategy(SpecKind):
    rechecks_object = True
    orphans_by_default = True

    def deletion_warnings(self, propagation_is_given: bool) -> Sequence[str]:
        return () if propagation_is_given else (_PODS_STAY,)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        default_job_spec(spec)
        default_job(obj)

    def prepare_for_create(self, obj: Object) -> None:
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)
        super().prepare_for_create(obj)
        drop_disabled_fields(obj["spec"]["template"]["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        drop_disabled_fields(new["spec"]["template"]["spec"])
        super().prepare_for_update(new, old)

    def complete(self, obj: Object) -> None:
        take_template_labels(obj)

    def check(self, obj: Object, errors: Errors) -> None:
        self._check_all(obj, obj, errors)

    def _check_all(self, obj: Object, old: Object, errors: Errors) -> None:
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        _check_generated_selector(obj, old is obj or _has_prefixed_labels(old), errors)
        _check_spec(spec, errors)
        if spec.get("completionMode") == INDEXED and spec.get("completions", 0) > 0:
            hostname = f"{name}-{spec['completions'] - 1}"
            if validation.dns_label_errors(hostname):
                reason = f"will not able to create pod with invalid DNS label: {hostname}"
                errors.append(field.invalid("metadata.name", name, reason))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self._check_all(new, old, errors)
        spec, before = new["spec"], old["spec"]
        _check_spec(spec, errors)
        _check_completions(spec, before, errors)
        check_selector_kept(spec.get("selector"), before.get("selector"), errors)
        _check_template_change(spec, old, errors)
        for name, struct in IMMUTABLE.items():
            _check_kept(spec.get(name), before.get(name), struct, f"spec.{name}", errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_job_status_update(new, old, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        warnings = []
        if reasons := validation.dns_label_errors(obj["metadata"].get("name", "")):
            warnings.append(HOSTNAME_WARNING.format(reasons=" ".join(reasons)))
        return warnings + job_spec_warnings(obj["spec"], "spec")

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        if subresource or not has_new_generation(new, old):
            return ()
        return job_spec_warnings(new["spec"], "spec")

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names

    def unsupported_field(self, name: str) -> str:
        return f'field label "{name}" not supported for Job'


def _generate_selector(job: Object) -> None:
    metadata, template = job["metadata"], job["spec"]["template"]
    own = (template.get("metadata") or NO_FIELDS).get("labels") or NO_FIELDS
    labels = dict(own)
    for label in NAME_LABELS:
        labels.setdefault(label, metadata.get("name", ""))
    for label in UID_LABELS:
        labels.setdefault(label, metadata.get("uid", ""))
    # In Kubernetes a Job without labels of its own shares its template's, the generated ones among them.
    if own and metadata.get("labels") == own:
        metadata["labels"] = dict(labels)
    template.setdefault("metadata", {})["labels"] = labels
    selector = job["spec"].setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(SELECTED_LABEL, metadata.get("uid", ""))


def _has_prefixed_labels(job: Json) -> bool:
    """Whether the template has both generated labels in their present form, which very old Jobs lack."""
    labels = ((job["spec"].get("template") or NO_FIELDS).get("metadata") or NO_FIELDS).get("labels") or NO_FIELDS
    return UID_LABELS[1] in labels and NAME_LABELS[1] in labels


def _check_generated_selector(job: Json, prefixed: bool, errors: Errors) -> None:
    spec, uid, name = job["spec"], job["metadata"].get("uid", ""), job["metadata"].get("name", "")
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    expected = {UID_LABELS[0]: uid, NAME_LABELS[0]: name}
    if prefixed:
        expected |= {UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    labels = ((spec.get("template") or NO_FIELDS).get("metadata") or NO_FIELDS).get("labels") or NO_FIELDS
    path = "spec.template.metadata.labels"
    for label, value in expected.items():
        if label not in labels:
            errors.append(field.required(f"{path}[{label}]", f"must be '{value}'"))
        elif labels[label] != value:
            errors.append(field.invalid(f"{path}[{label}]", go_map(labels), f"must be '{value}'"))
    if is_understood(spec["selector"]) and not selectors.from_label_selector(spec["selector"]).matches(expected):
        errors.append(field.invalid("spec.selector", go_selector(spec["selector"]), "`selector` not auto-generated"))


def _check_spec(spec: Json, errors: Errors) -> None:
    check_job_spec(spec, "spec", errors)
    selector = spec.get("selector")
    if selector is None:
        errors.append(field.required("spec.selector"))
    else:
        check_label_selector(selector, "spec.selector", errors)
    labels = ((spec.get("template") or NO_FIELDS).get("metadata") or NO_FIELDS).get("labels")
    if is_understood(selector) and not selectors.from_label_selector(selector).matches(labels or NO_FIELDS):
        reason = "`selector` does not match template `labels`"
        errors.append(field.invalid("spec.template.metadata.labels", go_map(labels), reason))


def _check_completions(spec: Json, before: Json, errors: Errors) -> None:
    """Fixed, except for an Indexed Job that changes its parallelism along with them."""
    now, then, path = spec.get("completions"), before.get("completions"), "spec.completions"
    if spec.get("completionMode") != INDEXED:
        check_immutable(now, then, path, errors)
    elif now is not None and now != then and now != spec.get("parallelism"):
        errors.append(field.invalid(path, now, "can only be modified in tandem with spec.parallelism"))


def _check_template_change(spec: Json, old: Json, errors: Errors) -> None:
    template, before = spec["template"], old["spec"]["template"]
    if _is_resting(old):
        before = _with_new_directives(before, template)
    if not old["spec"].get("suspend") or not _is_resting(old):
        _check_kept(template, before, "PodTemplateSpec", "spec.template", errors)
        return
    expected = _with_new_resources(before["spec"], template["spec"])
    _check_kept(template["spec"], expected, "PodSpec", "spec.template.spec", errors)


def _check_kept(new: Any, old: Any, struct: str, path: str, errors: Errors) -> None:
    if not same(new, old):
        value = as_internal(struct, new) if struct else new
        errors.append(field.invalid(path, value, validation.IMMUTABLE))


def _is_resting(job: Json) -> bool:
    """Suspended, and nothing of it runs."""
    status = job.get("status") or NO_FIELDS
    started = "startTime" in status and not is_condition_true(status, "Suspended")
    return bool(job["spec"].get("suspend")) and not started and not status.get("active")


def _with_new_directives(before: Json, template: Json) -> Json:
    metadata = {**(before.get("metadata") or NO_FIELDS)}
    for name in ("labels", "annotations"):
        _copy(metadata, template.get("metadata") or NO_FIELDS, name)
    spec = dict(before["spec"])
    for name in DIRECTIVES:
        _copy(spec, template["spec"], name)
    affinity = dict(spec.get("affinity") or NO_FIELDS)
    _copy(affinity, template["spec"].get("affinity") or NO_FIELDS, "nodeAffinity")
    spec.pop("affinity", None)
    if affinity or template["spec"].get("affinity") == {}:
        spec["affinity"] = affinity
    return {**before, "metadata": metadata, "spec": spec}


def _with_new_resources(before: Json, spec: Json) -> Json:
    merged = dict(before)
    for list_name in ("containers", "initContainers"):
        old, new = before.get(list_name) or NO_ITEMS, spec.get(list_name) or NO_ITEMS
        if old and len(old) == len(new):
            merged[list_name] = [
                {**was, "resources": now.get("resources")} if was.get("name") == now.get("name") else was
                for was, now in zip(old, new, strict=True)
            ]
    return merged


def _copy(target: Object, source: Json, name: str) -> None:
    target.pop(name, None)
    if name in source:
        target[name] = source[name]


JOB = JobStrategy()
