"""Role bindings and cluster role bindings: whom they name, and the role they keep for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_ITEMS,
    Errors,
    check_dns_subdomain,
    check_one_of,
    check_required,
    check_with,
)
from apiserver.resources.filling import fill_empty
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

GROUP = "rbac.authorization.k8s.io"
SERVICE_ACCOUNT = "ServiceAccount"
SUBJECT_KINDS = (SERVICE_ACCOUNT, "User", "Group")


class BindingStrategy(PlainKind):
    """`role_kinds` are what a binding may refer to; only a namespaced one may leave out an account's namespace."""

    rechecks_object = True
    allow_create_on_update = True

    def __init__(self, role_kinds: Sequence[str], namespaced: bool) -> None:
        self.role_kinds = role_kinds
        self.namespaced = namespaced

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.path_segment_errors(name)

    def default(self, obj: Object) -> None:
        fill_empty(obj.setdefault("roleRef", {}), {"apiGroup": GROUP})
        for subject in obj.get("subjects") or NO_ITEMS:
            if subject.get("kind") in ("User", "Group"):
                fill_empty(subject, {"apiGroup": GROUP})

    def check(self, obj: Object, errors: Errors) -> None:
        _check_role_reference(obj["roleRef"], self.role_kinds, "roleRef", errors)
        for i, subject in enumerate(obj.get("subjects") or NO_ITEMS):
            _check_subject(subject, self.namespaced, f"subjects[{i}]", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        if new["roleRef"] != old["roleRef"]:
            errors.append(field.invalid("roleRef", as_internal("RoleRef", new["roleRef"]), "cannot change roleRef"))


def _check_role_reference(reference: Json, kinds: Sequence[str], path: str, errors: Errors) -> None:
    check_one_of(reference.get("apiGroup", ""), (GROUP,), f"{path}.apiGroup", errors)
    check_one_of(reference.get("kind", ""), kinds, f"{path}.kind", errors)
    if name := reference.get("name"):
        check_with(validation.path_segment_errors(name), name, f"{path}.name", errors)
    else:
        errors.append(field.required(f"{path}.name"))


def _check_subject(subject: Json, namespaced: bool, path: str, errors: Errors) -> None:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    check_required(name, f"{path}.name", errors)
    if kind == SERVICE_ACCOUNT:
        if name:
            check_dns_subdomain(name, f"{path}.name", errors)
        check_one_of(group, ("",), f"{path}.apiGroup", errors)
        if not namespaced:
            check_required(subject.get("namespace"), f"{path}.namespace", errors)
    elif kind in SUBJECT_KINDS:
        check_one_of(group, (GROUP,), f"{path}.apiGroup", errors)
    else:
        errors.append(field.not_supported(f"{path}.kind", kind, SUBJECT_KINDS))


ROLE_BINDING = BindingStrategy(("Role", "ClusterRole"), namespaced=True)
CLUSTER_ROLE_BINDING = BindingStrategy(("ClusterRole",), namespaced=False)
