"""What a PersistentVolumeClaim asks for, on its own or as a template inside a pod or a StatefulSet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_annotations,
    check_dns_label,
    check_dns_subdomain,
    check_label_selector,
    check_labels,
    check_one_of,
)
from apiserver.resources.resource_lists import check_positive_amount
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
CLAIM = "PersistentVolumeClaim"
# What a claim template's metadata may not have, in the order of Go's struct.
NOT_IN_TEMPLATES = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def check_claim_template(template: Json, path: str, errors: Errors) -> None:
    """A template as ephemeral volumes have it: of its metadata only labels and annotations."""
    check_template_metadata(template.get("metadata") or NO_FIELDS, f"{path}.metadata", errors)
    check_claim_spec(template.get("spec") or NO_FIELDS, f"{path}.spec", errors)


def check_template_metadata(metadata: Json, path: str, errors: Errors) -> None:
    """Of the metadata of a template for claims, only labels and annotations."""
    check_annotations(metadata.get("annotations"), f"{path}.annotations", errors)
    check_labels(metadata.get("labels"), f"{path}.labels", errors)
    for name in NOT_IN_TEMPLATES:
        if metadata.get(name):
            errors.append(field.forbidden(f"{path}.{_go_name(name)}", "cannot be set"))


def check_claim_spec(spec: Json, path: str, errors: Errors) -> None:
    if not spec.get("accessModes"):
        errors.append(field.required(f"{path}.accessModes", "at least 1 access mode is required"))
    check_label_selector(spec.get("selector"), f"{path}.selector", errors)
    check_access_modes(spec.get("accessModes") or NO_ITEMS, f"{path}.accessModes", errors)
    size = ((spec.get("resources") or NO_FIELDS).get("requests") or NO_FIELDS).get("storage")
    if size is None:
        errors.append(field.required(f"{path}.resources[storage]"))
    else:
        check_positive_amount(size, f"{path}.resources[storage]", errors)
    if spec.get("storageClassName"):
        check_dns_subdomain(spec["storageClassName"], f"{path}.storageClassName", errors)
    if "volumeMode" in spec:
        check_one_of(spec["volumeMode"], VOLUME_MODES, f"{path}.volumeMode", errors)
    _check_data_sources(spec, path, errors)
    if spec.get("volumeAttributesClassName"):
        name = spec["volumeAttributesClassName"]
        check_dns_subdomain(name, f"{path}.volumeAttributesClassName", errors)


def check_access_modes(modes: Sequence[str], path: str, errors: Errors) -> None:
    for mode in modes:
        check_one_of(mode, ACCESS_MODES, path, errors)
    if "ReadWriteOncePod" in modes and any(m in ACCESS_MODES and m != "ReadWriteOncePod" for m in modes):
        errors.append(field.forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def _check_data_sources(spec: Json, path: str, errors: Errors) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check_data_source(source, f"{path}.dataSource", errors)
    if reference is not None:
        _check_data_source(reference, f"{path}.dataSourceRef", errors)
        if reference.get("namespace"):
            check_dns_label(reference["namespace"], f"{path}.dataSourceRef.namespace", errors)
    if source is None or reference is None:
        return
    # Upstream quotes the path object itself as the bad value, which prints as an empty struct.
    if reference.get("namespace"):
        errors.append(field.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(field.invalid(path, {}, "must match dataSourceRef"))


def _check_data_source(source: Json, path: str, errors: Errors) -> None:
    for name in ("name", "kind"):
        if not source.get(name):
            errors.append(field.required(f"{path}.{name}"))
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != CLAIM:
        reason = f"must be '{CLAIM}' when referencing the default apiGroup"
        errors.append(field.invalid(path, kind, reason))
    if group:
        check_dns_subdomain(group, f"{path}.apiGroup", errors)


def _go_name(name: str) -> str:
    """Go's field names with a small first letter: `uid` is `UID` there."""
    return "uID" if name == "uid" else name
