"""Namespaces: their finalizers, phases, and the first step of their deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.registry.strategy import UpdateRules
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_with
from apiserver.resources.filling import fill_empty
from apiserver.resources.kinds import FieldMap, PlainKind, carry_over
from kubeloop.apimachinery import field, metadata_validation, validation
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

Json = Mapping[str, Any]

KUBERNETES = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"
FIELDS = FieldMap({"status.phase": ("status", "phase")})


class NamespaceStrategy(PlainKind):
    rechecks_object = True
    has_own_deletion = True
    returns_object_on_delete = True

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.dns_label_errors(name, is_prefix)

    def default(self, obj: Object) -> None:
        metadata = obj["metadata"]
        if metadata.get("name"):
            labels = metadata.get("labels") or {}
            labels[NAME_LABEL] = metadata["name"]
            metadata["labels"] = labels
        obj.setdefault("spec", {})
        fill_empty(obj.setdefault("status", {}), {"phase": "Active"})

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = list(obj["spec"].get("finalizers") or NO_ITEMS)
        if KUBERNETES not in finalizers:
            finalizers.append(KUBERNETES)
        obj["spec"]["finalizers"] = finalizers
        # The name may have been generated after the defaults.
        metadata = obj["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or NO_FIELDS), NAME_LABEL: metadata.get("name", "")}

    def check(self, obj: Object, errors: Errors) -> None:
        for finalizer in obj["spec"].get("finalizers") or NO_ITEMS:
            _check_finalizer(finalizer, "spec.finalizers", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Finalizers have an endpoint of their own; changes to them here are dropped without a word."""
        carry_over(new["spec"], old.get("spec") or {}, "finalizers")
        carry_over(new, old, "status")

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        phase = (new.get("status") or NO_FIELDS).get("phase", "")
        if "deletionTimestamp" not in old["metadata"]:
            if phase != "Active":
                reason = "may only be 'Active' if `deletionTimestamp` is empty"
                errors.append(field.invalid("status.Phase", phase, reason))
        elif phase != "Terminating":
            reason = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            errors.append(field.invalid("status.Phase", phase, reason))

    def update_rules(self, subresource: str) -> UpdateRules:
        return _FinalizeRules() if subresource == "finalize" else super().update_rules(subresource)

    def begin_deletion(self, obj: Object, now: datetime) -> Object | None:
        """The first request marks it as terminating; it goes with a later one, once its finalizers are gone."""
        if "deletionTimestamp" in obj["metadata"]:
            return obj if (obj.get("spec") or NO_FIELDS).get("finalizers") else None
        return {
            **obj,
            "metadata": {**obj["metadata"], "deletionTimestamp": format_time(now)},
            "status": {**(obj.get("status") or NO_FIELDS), "phase": "Terminating"},
        }

    def is_gone_after(self, new: Object, old: Object) -> bool:
        if (new.get("spec") or NO_FIELDS).get("finalizers") or new["metadata"].get("finalizers"):
            return False
        return "deletionTimestamp" in old["metadata"]

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


class _FinalizeRules:
    """/finalize changes the finalizers; status and metadata stay the main endpoint's business."""

    def prepare(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]:
        errors: Errors = []
        for i, finalizer in enumerate((new.get("spec") or NO_FIELDS).get("finalizers") or NO_ITEMS):
            _check_finalizer(finalizer, f"spec.finalizers[{i}]", errors)
        return errors


def _check_finalizer(finalizer: str, path: str, errors: Errors) -> None:
    check_with(validation.qualified_name_errors(finalizer), finalizer, path, errors)
    if "/" not in finalizer and finalizer not in metadata_validation.STANDARD_FINALIZERS:
        reason = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(field.invalid(path, finalizer, reason))


NAMESPACE = NamespaceStrategy()
