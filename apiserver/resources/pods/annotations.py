"""Annotations of pods that mean something: deletion cost, and the old ways to set seccomp and AppArmor profiles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors
from apiserver.resources.pods.surroundings import all_containers
from apiserver.resources.volumes.paths import check_descending_path
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION

Json = Mapping[str, Any]

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

LOCALHOST = "localhost/"
UNCONFINED = "unconfined"
RUNTIME_DEFAULT = "runtime/default"
SECCOMP_DEFAULTS = (RUNTIME_DEFAULT, "docker/default")

_is_cost = re.compile(r"0|-[0-9]+|[1-9][0-9]*").fullmatch
_MAX_INT32 = 2**31 - 1


def check_pod_annotations(annotations: Mapping[str, str], spec: Json, path: str, errors: Errors) -> None:
    """`path` is that of the annotations, `spec` the pod's."""
    if MIRROR_ANNOTATION in annotations and not spec.get("nodeName"):
        reason = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(field.invalid(f"{path}[{MIRROR_ANNOTATION}]", annotations[MIRROR_ANNOTATION], reason))
    if DELETION_COST in annotations and not _is_int32(annotations[DELETION_COST]):
        reason = "must be a 32bit integer"
        errors.append(field.invalid(f"{path}[{DELETION_COST}]", annotations[DELETION_COST], reason))
    if SECCOMP_POD in annotations:
        _check_seccomp_text(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}", errors)
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            _check_seccomp_text(value, f"{path}.{key}", errors)
    for key, value in annotations.items():
        if key.startswith(APPARMOR):
            _check_apparmor_text(key, value, spec, path, errors)


def check_profiles_agree(annotations: Mapping[str, str], spec: Json, path: str, errors: Errors) -> None:
    """Where a profile is both a field and an annotation, they say the same. `path` is the spec's."""
    context = spec.get("securityContext") or NO_FIELDS
    if "seccompProfile" in context and SECCOMP_POD in annotations:
        at = f"{path}.securityContext.seccompProfile"
        _check_seccomp_agrees(annotations[SECCOMP_POD], context["seccompProfile"], at, errors)
    for container, at in all_containers(spec, path):
        profile = (container.get("securityContext") or NO_FIELDS).get("seccompProfile")
        text = annotations.get(SECCOMP_CONTAINER + container.get("name", ""))
        if profile is not None and text is not None:
            _check_seccomp_agrees(text, profile, f"{at}.securityContext.seccompProfile", errors)
    if (spec.get("os") or NO_FIELDS).get("name") != "windows":
        _check_apparmor_agrees(annotations, spec, context.get("appArmorProfile"), path, errors)


def check_annotation_changes(new: Object, old: Object, errors: Errors) -> None:
    """The mirror and AppArmor annotations stay as they were created; what is there is looked at once more."""
    after, before = (pod["metadata"].get("annotations") or NO_FIELDS for pod in (new, old))
    if after != before:
        path = "metadata.annotations"
        _check_kept(after, before, path, errors)
        check_pod_annotations(after, new["spec"], path, errors)


def _check_kept(new: Mapping[str, str], old: Mapping[str, str], path: str, errors: Errors) -> None:
    for key, value in old.items():
        if new.get(key) != value:
            _refuse_change(key, "remove or update", path, errors)
    for key in new:
        if key not in old:
            _refuse_change(key, "add", path, errors)


def apparmor_field(text: str) -> dict[str, Any] | None:
    """The field that an AppArmor annotation stands for; None where it stands for nothing."""
    if text == UNCONFINED:
        return {"type": "Unconfined"}
    if text in ("", RUNTIME_DEFAULT):
        return {"type": "RuntimeDefault"}
    if text.startswith(LOCALHOST) and text != LOCALHOST:
        return {"type": "Localhost", "localhostProfile": text.removeprefix(LOCALHOST)}
    return None


def _refuse_change(key: str, verb: str, path: str, errors: Errors) -> None:
    if key.startswith(APPARMOR):
        errors.append(field.forbidden(f"{path}[{key}]", f"may not {verb} AppArmor annotations"))
    if key == MIRROR_ANNOTATION:
        errors.append(field.forbidden(f"{path}[{key}]", f"may not {verb} mirror pod annotation"))


def _is_int32(text: str) -> bool:
    return _is_cost(text) is not None and -_MAX_INT32 - 1 <= int(text) <= _MAX_INT32


def _check_seccomp_text(profile: str, path: str, errors: Errors) -> None:
    if profile in (*SECCOMP_DEFAULTS, UNCONFINED):
        return
    if profile.startswith(LOCALHOST):
        check_descending_path(profile.removeprefix(LOCALHOST), path, errors)
    else:
        errors.append(field.invalid(path, profile, "must be a valid seccomp profile"))


def _check_apparmor_text(key: str, profile: str, spec: Json, path: str, errors: Errors) -> None:
    name = key.removeprefix(APPARMOR)
    if not any(container.get("name") == name for container, _ in all_containers(spec, "")):
        errors.append(field.invalid(f"{path}[{key}]", name, "container not found"))
    if profile not in ("", RUNTIME_DEFAULT, UNCONFINED) and not profile.startswith(LOCALHOST):
        reason = f"invalid AppArmor profile name: {field.go_value(profile)}"
        errors.append(field.invalid(f"{path}[{key}]", profile, reason))


def _check_seccomp_agrees(text: str, profile: Json, path: str, errors: Errors) -> None:
    kind = profile.get("type")
    if kind == "Localhost" and text.startswith(LOCALHOST):
        if profile.get("localhostProfile") != text.removeprefix(LOCALHOST):
            reason = "seccomp profile in annotation and field must match"
            errors.append(field.forbidden(f"{path}.localhostProfile", reason))
    elif (
        (kind == "Unconfined" and text != UNCONFINED)
        or (kind == "RuntimeDefault" and text not in SECCOMP_DEFAULTS)
        or kind == "Localhost"
    ):
        errors.append(field.forbidden(f"{path}.type", "seccomp type in annotation and field must match"))


def _check_apparmor_agrees(
    annotations: Mapping[str, str], spec: Json, pod_profile: Json | None, path: str, errors: Errors
) -> None:
    for container, at in all_containers(spec, path):
        text = annotations.get(APPARMOR + container.get("name", ""))
        profile = (container.get("securityContext") or NO_FIELDS).get("appArmorProfile", pod_profile)
        if text is None or profile is None:
            continue
        at, kind = f"{at}.securityContext.appArmorProfile", profile.get("type")
        if kind == "Localhost" and text.startswith(LOCALHOST):
            if profile.get("localhostProfile") != text.removeprefix(LOCALHOST):
                reason = "apparmor profile in annotation and field must match"
                errors.append(field.forbidden(f"{at}.localhostProfile", reason))
        elif (
            (kind == "Unconfined" and text != UNCONFINED)
            or (kind == "RuntimeDefault" and text != RUNTIME_DEFAULT)
            or kind == "Localhost"
        ):
            errors.append(field.forbidden(f"{at}.type", "apparmor type in annotation and field must match"))
