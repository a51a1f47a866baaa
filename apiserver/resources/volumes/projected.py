"""Volumes put together of keys of ConfigMaps and Secrets, fields of the pod, and tokens.

Trust bundles and pod certificates, the other two projections, are behind feature gates that are off in v1.36: the
defaults drop them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import Errors, check_required
from apiserver.resources.pods.field_references import VOLUME_FIELDS, check_field_reference, check_resource_reference
from apiserver.resources.volumes.paths import check_file_mode, check_unreserved_path
from kubeloop.apimachinery import field

Json = Mapping[str, Any]

MIN_TOKEN_SECONDS = 600
MAX_TOKEN_SECONDS = 1 << 32
CONFLICT = "conflicting duplicate paths"
PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def check_projected(source: Json, path: str, errors: Errors) -> None:
    check_file_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
    used: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{i}]"
        found = [name for name in PROJECTIONS if name in projection]
        for name in found:
            _check_projection(name, projection[name], f"{at}.{name}", path, used, errors)
        if len(found) > 1:
            errors.append(field.forbidden(at, "may not specify more than 1 volume type per source"))


def check_key_to_path(item: Json, path: str, errors: Errors) -> None:
    check_required(item.get("key"), f"{path}.key", errors)
    check_required(item.get("path"), f"{path}.path", errors)
    check_unreserved_path(item.get("path", ""), f"{path}.path", errors)
    check_file_mode(item.get("mode"), f"{path}.mode", errors)


def check_downward_api_file(item: Json, path: str, errors: Errors) -> None:
    check_required(item.get("path"), f"{path}.path", errors)
    check_unreserved_path(item.get("path", ""), f"{path}.path", errors)
    if "fieldRef" in item:
        check_field_reference(item["fieldRef"], VOLUME_FIELDS, f"{path}.fieldRef", errors)
        if "resourceFieldRef" in item:
            reason = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field.invalid(path, "resource", reason))
    elif "resourceFieldRef" in item:
        check_resource_reference(item["resourceFieldRef"], f"{path}.resourceFieldRef", errors, in_volume=True)
    else:
        errors.append(field.required(path, "one of fieldRef and resourceFieldRef is required"))
    check_file_mode(item.get("mode"), f"{path}.mode", errors)


def _check_projection(name: str, source: Json, at: str, path: str, used: set[str], errors: Errors) -> None:
    """`at` is the projection's own path, `path` the volume's, where Kubernetes reports conflicts."""
    if name in ("secret", "configMap"):
        check_required(source.get("name"), f"{at}.name", errors)
        for i, item in enumerate(source.get("items") or ()):
            check_key_to_path(item, f"{at}.items[{i}]", errors)
            _take_path(item.get("path", ""), source.get("name", ""), path, used, errors)
    elif name == "downwardAPI":
        for item in source.get("items") or ():
            check_downward_api_file(item, at, errors)
            _take_path(item.get("path", ""), item.get("path", ""), path, used, errors)
    else:
        _check_token(source, at, path, errors)


def _take_path(file_path: str, reported: str, path: str, used: set[str], errors: Errors) -> None:
    if not file_path:
        return
    if file_path in used:
        errors.append(field.invalid(path, reported, CONFLICT))
    used.add(file_path)


def _check_token(source: Json, at: str, path: str, errors: Errors) -> None:
    seconds = source.get("expirationSeconds", 0)
    if seconds < MIN_TOKEN_SECONDS:
        reason = "may not specify a duration less than 10 minutes"
        errors.append(field.invalid(f"{at}.expirationSeconds", seconds, reason))
    if seconds > MAX_TOKEN_SECONDS:
        reason = "may not specify a duration larger than 2^32 seconds"
        errors.append(field.invalid(f"{at}.expirationSeconds", seconds, reason))
    if file_path := source.get("path"):
        check_unreserved_path(file_path, f"{path}.path", errors)
    else:
        errors.append(field.required(f"{path}.path"))
