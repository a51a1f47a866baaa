"""CustomResourceDefinitions as objects: their defaults, what may change, and the first step of their deletion.

Serving the kinds they define, and accepting their names, is not done here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from apiserver.resources.admissionregistration.webhook_client import default_client
from apiserver.resources.apiextensions.definition_names import check_names
from apiserver.resources.apiextensions.definition_spec import check_definition_spec, unknown_formats
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_immutable
from apiserver.resources.filling import fill_empty
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import conditions, field
from kubeloop.apimachinery.ca_bundle import ca_bundle_error
from kubeloop.apimachinery.formats import is_known
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.times import format_time

Json = Mapping[str, Any]

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
APPROVED = "api-approved.kubernetes.io"
PROTECTED_DOMAINS = ("k8s.io", "kubernetes.io")
APPROVAL_ADVICE = "see https://github.com/kubernetes/enhancements/pull/1111"
TERMINATING: Json = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionPending",
    "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
}


class CustomResourceDefinitionStrategy(SpecKind):
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def blank_status(self, obj: Object) -> Any:
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        fill_empty(names, {"singular": names.get("kind", "").lower()})
        if kind := names.get("kind"):
            fill_empty(names, {"listKind": f"{kind}List"})
        if not names["singular"]:
            del names["singular"]
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        default_client((conversion.get("webhook") or {}).get("clientConfig") or {})
        status = obj.setdefault("status", self.blank_status(obj))
        if not status.get("storedVersions"):
            status["storedVersions"] = _storage_versions(spec)[:1] or None

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        _note_storage_version(obj)

    def name_rules(self, obj: Object) -> Callable[[str, bool], Sequence[str]]:
        names, group = obj["spec"].get("names") or NO_FIELDS, obj["spec"].get("group", "")
        required = f"{names.get('plural', '')}.{group}"

        def errors(name: str, is_prefix: bool) -> Sequence[str]:
            reasons = self.validate_name(name, is_prefix)
            return reasons if name == required else [*reasons, 'must be spec.names.plural+"."+spec.group']

        return errors

    def check(self, obj: Object, errors: Errors) -> None:
        group = obj["spec"].get("group", "")
        check_definition_spec(obj["spec"], "spec", errors)
        check_names(_accepted_names(obj), "status.acceptedNames", errors)
        _check_stored_versions(obj, "status.storedVersions", errors)
        if _is_protected(group):
            _check_approval(obj, errors)
        _check_preserve_unknown_fields(obj, errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        new["status"] = deep_copy(new.get("status") or {})
        _note_storage_version(new)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        spec, before = new["spec"], old["spec"]
        names, old_names = spec.get("names") or NO_FIELDS, before.get("names") or NO_FIELDS
        is_established = conditions.is_true(conditions.conditions_of(old), "Established")
        checks_bundle = is_established and not ca_bundle_error(_bundle(old))
        check_definition_spec(spec, "spec", errors, before=before, checks_bundle=checks_bundle)
        if is_established:
            check_immutable(spec.get("scope"), before.get("scope"), "spec.scope", errors)
            check_immutable(names.get("kind"), old_names.get("kind"), "spec.names.kind", errors)
        check_immutable(spec.get("group"), before.get("group"), "spec.group", errors)
        check_immutable(names.get("plural"), old_names.get("plural"), "spec.names.plural", errors)
        check_names(_accepted_names(new), "status.acceptedNames", errors)
        _check_stored_versions(new, "status.storedVersions", errors)
        if _is_protected(spec.get("group", "")) and _approval(new) != _approval(old):
            _check_approval(new, errors)
        if not before.get("preserveUnknownFields"):
            _check_preserve_unknown_fields(new, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_names(_accepted_names(new), "status.acceptedNames", errors)

    def begin_deletion(self, obj: Object, now: datetime) -> Object | None:
        """Mark it and leave the rest to whoever deletes its objects."""
        if "deletionTimestamp" in obj["metadata"]:
            return None
        moment, status = format_time(now), obj.get("status") or NO_FIELDS
        finalizers = list(obj["metadata"].get("finalizers") or NO_ITEMS)
        if CLEANUP not in finalizers:
            finalizers.append(CLEANUP)
        noted = conditions.set_condition(status.get("conditions") or NO_ITEMS, dict(TERMINATING), moment)
        return {
            **obj,
            "metadata": {**obj["metadata"], "deletionTimestamp": moment, "finalizers": finalizers},
            "status": {**status, "conditions": noted},
        }

    def warnings(self, obj: Object) -> Sequence[str]:
        return unknown_formats(obj["spec"], is_known)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Of formats that were not there before."""
        if subresource:
            return ()
        known = set(unknown_formats(old["spec"], is_known))
        return [text for text in unknown_formats(new["spec"], is_known) if text not in known]


def _storage_versions(spec: Json) -> list[str]:
    return [v.get("name", "") for v in spec.get("versions") or NO_ITEMS if v.get("storage")]


def _note_storage_version(obj: Object) -> None:
    """Objects may from now on be stored in it."""
    status = obj["status"]
    for name in _storage_versions(obj["spec"])[:1]:
        stored = status.get("storedVersions") or []
        if name not in stored:
            status["storedVersions"] = [*stored, name]


def _accepted_names(obj: Json) -> Json:
    names: Json = (obj.get("status") or NO_FIELDS).get("acceptedNames") or NO_FIELDS
    return names


def _bundle(obj: Json) -> str:
    """The CA bundle of the conversion webhook, in base64."""
    webhook = (obj["spec"].get("conversion") or NO_FIELDS).get("webhook") or NO_FIELDS
    return (webhook.get("clientConfig") or NO_FIELDS).get("caBundle") or ""


def _check_stored_versions(obj: Json, path: str, errors: Errors) -> None:
    stored = (obj.get("status") or NO_FIELDS).get("storedVersions")
    if not stored:
        errors.append(field.invalid(path, stored, "must have at least one stored version"))
        return
    versions = obj["spec"].get("versions") or NO_ITEMS
    unmet = set(stored)
    for version in versions:  # a version that is there twice is missed the second time, as upstream
        name = version.get("name", "")
        if version.get("storage") and name not in unmet:
            errors.append(field.invalid(path, stored, f"must have the storage version {name}"))
        unmet.discard(name)
    known = {version.get("name", "") for version in versions}
    for i, name in enumerate(stored):
        if name not in known:
            reason = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(field.invalid(f"{path}[{i}]", name, reason))


def _is_protected(group: str) -> bool:
    return any(group == domain or group.endswith(f".{domain}") for domain in PROTECTED_DOMAINS)


def _approval(obj: Json) -> str:
    """missing, bypassed, approved or invalid."""
    annotation = (obj["metadata"].get("annotations") or NO_FIELDS).get(APPROVED, "")
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    parts = urlsplit(annotation)
    return "approved" if parts.scheme and parts.netloc else "invalid"


def _check_approval(obj: Json, errors: Errors) -> None:
    """Kinds in the community's own domains say who approved of them."""
    at, rule = f"metadata.annotations[{APPROVED}]", f'protected groups must have approval annotation "{APPROVED}"'
    match _approval(obj):
        case "missing":
            errors.append(field.required(at, f"{rule}, {APPROVAL_ADVICE}"))
        case "invalid":
            reason = f'{rule} with either a URL or a reason starting with "unapproved", {APPROVAL_ADVICE}'
            errors.append(field.invalid(at, obj["metadata"]["annotations"][APPROVED], reason))


def _check_preserve_unknown_fields(obj: Json, errors: Errors) -> None:
    if obj["spec"].get("preserveUnknownFields"):
        reason = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        errors.append(field.invalid("spec.preserveUnknownFields", True, reason))


CUSTOM_RESOURCE_DEFINITION = CustomResourceDefinitionStrategy()
