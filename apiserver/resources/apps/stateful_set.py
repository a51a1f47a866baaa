"""StatefulSets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.apps.workload import (
    TEMPLATE,
    Workload,
    check_at_most_replicas,
    check_collisions,
    check_counts,
    check_labels_selected,
    check_runs_for_ever,
    check_selector,
    is_understood,
)
from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_annotations,
    check_dns_label,
    check_labels,
    check_not_negative,
    check_one_of,
    go_selector,
)
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.pods.annotations import check_pod_annotations
from apiserver.resources.pods.defaults import default_claim_spec
from apiserver.resources.pods.pod_template import check_pod_template
from apiserver.resources.volumes.claim_spec import check_claim_spec
from apiserver.resources.volumes.claim_warnings import claim_spec_warnings
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULTS = {"replicas": 1, "revisionHistoryLimit": 10}
RETENTION = ("Retain", "Delete")
MANAGEMENT = ("OrderedReady", "Parallel")
MUTABLE = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
FORBIDDEN_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
COUNTS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)


class StatefulSetStrategy(Workload):
    warns_of_long_names = False

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.dns_label_errors(name, is_prefix)

    def default_spec(self, spec: Object, obj: Object) -> None:
        fill(spec, DEFAULTS)
        fill_empty(spec, {"podManagementPolicy": "OrderedReady"})
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
            fill(strategy["rollingUpdate"], {"partition": 0})
        policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        fill_empty(policy, {"whenDeleted": "Retain", "whenScaled": "Retain"})
        for claim in spec.get("volumeClaimTemplates") or NO_ITEMS:
            claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
            default_claim_spec(claim.setdefault("spec", {}))
            fill_empty(claim.setdefault("status", {}), {"phase": "Pending"})

    def blank_status(self, obj: Object) -> Object:
        return {"replicas": 0, "availableReplicas": 0}

    def prepare_for_create(self, obj: Object) -> None:
        _drop_disabled(obj["spec"])
        super().prepare_for_create(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        _drop_disabled(new["spec"])
        super().prepare_for_update(new, old)

    def check(self, obj: Object, errors: Errors) -> None:
        _check_spec(obj["spec"], errors, is_new=True)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_spec(new["spec"], errors, is_new=False)
        fixed = [{k: v for k, v in obj["spec"].items() if k not in MUTABLE} for obj in (new, old)]
        if not same(*fixed):
            errors.append(field.forbidden("spec", FORBIDDEN_UPDATE))

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_counts(status, COUNTS, errors)
        counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        check_at_most_replicas(status, counts, errors, ready_word="status.readyReplicas")
        check_collisions(status, old.get("status") or NO_FIELDS, errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return [*super().warnings(obj), *self._own_warnings(obj["spec"], "")]

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        if subresource:
            return ()
        return [*super().update_warnings(new, old, subresource), *self._own_warnings(new["spec"], ".Spec")]

    def _own_warnings(self, spec: Json, step: str) -> list[str]:
        """`step` leads from a claim template to its spec, as upstream spells it."""
        warnings: list[str] = []
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or NO_ITEMS):
            warnings += claim_spec_warnings(claim.get("spec") or NO_FIELDS, f"spec.volumeClaimTemplates[{i}]{step}")
        if spec.get("revisionHistoryLimit", 0) < 0:
            warnings.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return warnings


def _drop_disabled(spec: Object) -> None:
    """Behind a feature gate that is off in v1.36: more than one pod unavailable at a time."""
    (spec["updateStrategy"].get("rollingUpdate") or {}).pop("maxUnavailable", None)


def _check_spec(spec: Json, errors: Errors, *, is_new: bool) -> None:
    """Names and claims that cannot change any more are not looked at again."""
    policy = spec.get("podManagementPolicy", "")
    if policy not in MANAGEMENT:
        reason = "must be 'OrderedReady' or 'Parallel'"
        errors.append(field.invalid("spec.podManagementPolicy", policy, reason))
    _check_update_strategy(spec.get("updateStrategy") or NO_FIELDS, "spec.updateStrategy", errors)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or NO_FIELDS
    for name in ("whenDeleted", "whenScaled"):
        at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
        check_one_of(retention.get(name, ""), RETENTION, at, errors)
    if is_new:
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or NO_ITEMS):
            check_claim_spec(claim.get("spec") or NO_FIELDS, f"spec.volumeClaimTemplates[{i}].spec", errors)
    check_not_negative(spec.get("replicas", 0), "spec.replicas", errors)
    check_not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds", errors)
    check_not_negative((spec.get("ordinals") or NO_FIELDS).get("start", 0), "spec.ordinals.start", errors)
    if is_new and spec.get("serviceName"):
        check_dns_label(spec["serviceName"], "spec.serviceName", errors)
    check_selector(spec.get("selector"), "statefulset", errors)
    if is_understood(spec.get("selector")):
        _check_template(spec, errors)
    else:
        errors.append(field.invalid("spec.selector", go_selector(spec["selector"]), ""))
    check_runs_for_ever(spec.get("template") or NO_FIELDS, "StatefulSet", errors)


def _check_update_strategy(strategy: Json, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    go_rolling = None
    if rolling is not None:
        go_rolling = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
    if kind == "RollingUpdate":
        check_not_negative((rolling or NO_FIELDS).get("partition", 0), f"{path}.rollingUpdate.partition", errors)
    elif kind == "OnDelete":
        if rolling is not None:
            reason = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(field.invalid(f"{path}.rollingUpdate", go_rolling, reason))
    else:
        reason = "must be 'RollingUpdate' or 'OnDelete'"
        errors.append(field.invalid(path, {"Type": kind, "RollingUpdate": go_rolling}, reason))


def _check_template(spec: Json, errors: Errors) -> None:
    """The template as its pods will be: host names are given to them, claims become volumes."""
    template = dict(spec.get("template") or NO_FIELDS)
    pod_spec = {k: v for k, v in (template.get("spec") or NO_FIELDS).items() if k not in ("hostname", "subdomain")}
    if claims := spec.get("volumeClaimTemplates"):
        names = dict.fromkeys((claim.get("metadata") or NO_FIELDS).get("name", "") for claim in claims)
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        kept = [v for v in pod_spec.get("volumes") or NO_ITEMS if v.get("name", "") not in names]
        pod_spec["volumes"] = made + kept
    template["spec"] = pod_spec
    check_labels_selected(spec.get("selector"), template, errors)
    check_pod_template(template, TEMPLATE, errors)
    # Upstream looks at the metadata of this template twice, and reports it twice.
    metadata = template.get("metadata") or NO_FIELDS
    check_labels(metadata.get("labels"), f"{TEMPLATE}.labels", errors)
    check_annotations(metadata.get("annotations"), f"{TEMPLATE}.annotations", errors)
    annotations = metadata.get("annotations") or NO_FIELDS
    check_pod_annotations(annotations, pod_spec, f"{TEMPLATE}.annotations", errors)


STATEFUL_SET = StatefulSetStrategy()
