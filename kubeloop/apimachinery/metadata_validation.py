"""What metadata may say, on creation and on update, for every kind.

The API server's store asks `create_errors` and `update_errors` once a write; kinds of Kubernetes' own ask in addition
`kube_finalizer_errors` (custom resources may have short finalizers). `labels_errors`, `annotations_errors` and the
rest serve pod templates too. Order and words are those of k8s.io/apimachinery/pkg/api/validation/objectmeta.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import ReadOnlyObject, metadata

NameErrors = Callable[[str, bool], Sequence[str]]  # (name, is_prefix) -> reasons

MAX_ANNOTATIONS_BYTES = 256 * 1024
MAX_FIELD_MANAGER_BYTES = 128
MAX_SUBRESOURCE_BYTES = 256
ORPHAN_DEPENDENTS = "orphan"
DELETE_DEPENDENTS = "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN_DEPENDENTS, DELETE_DEPENDENTS})
_NOTHING: Mapping[str, Any] = {}
_IMMUTABLE_FIELDS = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def create_errors(
    obj: ReadOnlyObject,
    *,
    namespaced: bool,
    name_errors: NameErrors = validation.path_segment_errors,
    known: ReadOnlyObject = _NOTHING,
) -> list[FieldError]:
    """What is wrong with the metadata of a new object, whose name has been generated already.

    `known` is an object with whose metadata nothing is wrong: what is the same in both is not looked at again.
    """
    meta, good = metadata(obj), metadata(known)
    return object_meta_errors(meta, "metadata", namespaced=namespaced, name_errors=name_errors, known=good)


def update_errors(new: ReadOnlyObject, old: ReadOnlyObject, *, has_good_parts: bool = False) -> list[FieldError]:
    """What is wrong with the metadata of `new` as the successor of `old`.

    `has_good_parts`: `create_errors` found nothing wrong with it, which says as much of labels, owners and the like.
    """
    new_meta, old_meta, path = metadata(new), metadata(old), "metadata"
    errors = []
    if old_meta.get("deletionTimestamp"):
        errors += _new_finalizer_errors(new_meta, old_meta, field.child(path, "finalizers"))
    if not new_meta.get("resourceVersion"):
        errors.append(field.invalid(field.child(path, "resourceVersion"), "", "must be specified for an update"))
    if (generation := new_meta.get("generation") or 0) < (old_meta.get("generation") or 0):
        errors.append(field.invalid(field.child(path, "generation"), generation, "must not be decremented"))
    for name, absent in _IMMUTABLE_FIELDS:
        if (value := new_meta.get(name, absent)) != old_meta.get(name, absent):
            errors.append(field.invalid(field.child(path, name), value, validation.IMMUTABLE))
    return errors if has_good_parts else errors + _part_errors(new_meta, path, _PARTS_CHECKED_ON_UPDATE)


def object_meta_errors(
    meta: Mapping[str, Any],
    path: str,
    *,
    namespaced: bool,
    name_errors: NameErrors,
    known: Mapping[str, Any] = _NOTHING,
) -> list[FieldError]:
    """Metadata at `path`, which must have a name (ValidateObjectMeta). Paths are made of what is wrong alone.

    `known`: other metadata with which nothing is wrong.
    """
    errors = []
    prefix = meta.get("generateName")
    if prefix and prefix != known.get("generateName") and (reasons := name_errors(prefix, True)):
        errors += _invalid(field.child(path, "generateName"), prefix, reasons)
    if not (name := meta.get("name")):
        errors.append(field.required(field.child(path, "name"), "name or generateName is required"))
    elif name != known.get("name") and (reasons := name_errors(name, False)):
        errors += _invalid(field.child(path, "name"), name, reasons)
    if not known or meta.get("namespace") != known.get("namespace"):
        errors += _namespace_errors(meta.get("namespace") or "", path, namespaced)
    if (generation := meta.get("generation") or 0) < 0:
        errors += non_negative_errors(generation, field.child(path, "generation"))
    return errors + _part_errors(meta, path, _PARTS, known)


def label_key_errors(key: str, path: str) -> list[FieldError]:
    return _invalid(path, key, validation.qualified_name_errors(key))


def labels_errors(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors = []
    for key, value in labels.items():
        if reasons := validation.qualified_name_errors(key):
            errors += _invalid(path, key, reasons)
        if reasons := validation.label_value_errors(value):
            errors += _invalid(path, value, reasons)
    return errors


def annotations_errors(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors = []
    for key in annotations:
        errors += _invalid(path, key, validation.qualified_name_errors(key.lower()))
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        errors.append(field.too_long(path, MAX_ANNOTATIONS_BYTES))
    return errors


def owner_references_errors(references: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors = []
    first_controller = ""
    for reference in references:
        errors += _owner_reference_errors(reference, path)
        if not reference.get("controller"):
            continue
        controller = f"{reference.get('kind', '')}/{reference.get('name', '')}"
        if not first_controller:
            first_controller = controller
            continue
        why = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {first_controller} and {controller}'
        )
        errors.append(field.invalid(path, [go_owner_reference(each) for each in references], why))
    return errors


def finalizers_errors(finalizers: Sequence[str], path: str) -> list[FieldError]:
    errors = []
    for finalizer in finalizers:
        errors += _invalid(path, finalizer, validation.qualified_name_errors(finalizer))
    if ORPHAN_DEPENDENTS in finalizers and DELETE_DEPENDENTS in finalizers:
        why = f"finalizer {ORPHAN_DEPENDENTS} and {DELETE_DEPENDENTS} cannot be both set"
        errors.append(field.invalid(path, list(finalizers), why))
    return errors


def kube_finalizer_errors(finalizers: Sequence[str], path: str = "metadata.finalizers") -> list[FieldError]:
    """The further rule of built-in kinds: a finalizer is a standard one or has a domain."""
    return [
        field.invalid(
            field.index(path, i), finalizer, "name is neither a standard finalizer name nor is it fully qualified"
        )
        for i, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def managed_fields_errors(entries: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    return [
        error
        for i, entry in enumerate(entries)
        if not _is_usual_entry(entry)
        for error in _entry_errors(entry, field.index(path, i))
    ]


def _is_usual_entry(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is as the server writes them: nothing is wrong with it."""
    manager, subresource = entry.get("manager", ""), entry.get("subresource", "")
    return (
        entry.get("operation") in ("Apply", "Update")
        and entry.get("fieldsType") == "FieldsV1"
        and len(manager) <= MAX_FIELD_MANAGER_BYTES
        and manager.isascii()
        and manager.isprintable()
        and subresource in ("", "status")
    )


def _entry_errors(entry: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = []
    operation, fields_type = entry.get("operation", ""), entry.get("fieldsType", "")
    if operation not in ("Apply", "Update"):
        errors.append(field.invalid(field.child(path, "operation"), operation, "must be `Apply` or `Update`"))
    if fields_type not in ("", "FieldsV1"):
        errors.append(field.invalid(field.child(path, "fieldsType"), fields_type, "must be `FieldsV1`"))
    errors += field_manager_errors(entry.get("manager", ""), field.child(path, "manager"))
    if len(entry.get("subresource", "").encode()) > MAX_SUBRESOURCE_BYTES:
        errors.append(field.too_long(field.child(path, "subresource"), MAX_SUBRESOURCE_BYTES))
    return errors


def field_manager_errors(manager: str, path: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > MAX_FIELD_MANAGER_BYTES:
        errors.append(field.too_long(path, MAX_FIELD_MANAGER_BYTES))
    if manager.isprintable():
        return errors
    position = 0
    for character in manager:
        if not character.isprintable():
            why = f"invalid character U+{ord(character):04X} (at position {position})"
            errors.append(field.invalid(path, manager, why))
        position += len(character.encode())
    return errors


def domain_path_errors(value: str, path: str) -> list[FieldError]:
    """What keeps a value from being a domain and a path below it: `example.com/job-controller`."""
    if not value:
        return [field.required(path)]
    domain, slash, rest = value.partition("/")
    if not slash or not domain or not rest:
        return _invalid(path, value, ['must be a domain-prefixed path (such as "acme.io/foo")'])
    in_domain = _invalid(path, domain, validation.dns_subdomain_errors(domain))
    return in_domain + _invalid(path, rest, validation.http_path_errors(rest))


def non_negative_errors(value: int, path: str) -> list[FieldError]:
    return [field.invalid(path, value, validation.MUST_BE_NON_NEGATIVE)] if value < 0 else []


def _namespace_errors(namespace: str, path: str, namespaced: bool) -> list[FieldError]:
    """`path` is that of the metadata."""
    if not namespaced:
        return [field.forbidden(field.child(path, "namespace"), "not allowed on this type")] if namespace else []
    if not namespace:
        return [field.required(field.child(path, "namespace"))]
    reasons = validation.dns_label_errors(namespace)
    return _invalid(field.child(path, "namespace"), namespace, reasons) if reasons else []


def _owner_reference_errors(reference: Mapping[str, Any], path: str) -> list[FieldError]:
    api_version = reference.get("apiVersion", "")
    group, version = _group_and_version(api_version)
    errors = []
    if not version:
        errors.append(field.invalid(field.child(path, "apiVersion"), api_version, "version must not be empty"))
    for name in ("kind", "name", "uid"):
        if not reference.get(name):
            errors.append(field.invalid(field.child(path, name), "", "must not be empty"))
    if (group, version, reference.get("kind")) == ("", "v1", "Event"):
        errors.append(
            field.invalid(path, go_owner_reference(reference), "/v1, Kind=Event is disallowed from being an owner")
        )
    return errors


def go_owner_reference(reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """As Go prints it: in its type's order, without the flags that are not set."""
    printed = {name: reference.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    flags = {name: reference[name] for name in ("controller", "blockOwnerDeletion") if name in reference}
    return printed | flags


def _group_and_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` as ("apps", "v1"); what is no group and version at all has an empty version."""
    parts = api_version.split("/")
    if len(parts) == 1:
        return "", parts[0]
    return (parts[0], parts[1]) if len(parts) == 2 else ("", "")


def _new_finalizer_errors(new: Mapping[str, Any], old: Mapping[str, Any], path: str) -> list[FieldError]:
    added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
    if not added:
        return []
    listed = ", ".join(field.go_quote(name) for name in added)
    why = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [field.forbidden(path, why)]


def _invalid(path: str, value: str, reasons: Sequence[str]) -> list[FieldError]:
    return [field.invalid(path, value, reason) for reason in reasons] if reasons else []


def _part_errors(
    meta: Mapping[str, Any], path: str, parts: Sequence[tuple[str, _Check]], known: Mapping[str, Any] = _NOTHING
) -> list[FieldError]:
    """What is wrong with those parts that there are: most objects have two of them."""
    errors: list[FieldError] = []
    for name, check in parts:
        if (value := meta.get(name)) and value != known.get(name):
            errors += check(value, field.child(path, name))
    return errors


_Check = Callable[[Any, str], list[FieldError]]

# The parts of metadata with rules of their own, in the order in which they are checked.
_PARTS: tuple[tuple[str, _Check], ...] = (
    ("labels", labels_errors),
    ("annotations", annotations_errors),
    ("ownerReferences", owner_references_errors),
    ("finalizers", finalizers_errors),
    ("managedFields", managed_fields_errors),
)
_PARTS_CHECKED_ON_UPDATE = tuple(part for part in _PARTS if part[0] != "finalizers")
