"""References from a pod to its own fields (the downward API) and to resources of its containers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import Errors, check_qualified_name
from kubeloop.apimachinery import field
from kubeloop.apimachinery.quantity import parse

VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
VARIABLE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
KNOWN_FIELDS = frozenset({*VOLUME_FIELDS, *VARIABLE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"})
CONTAINER_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
CPU_DIVISORS = ("1m", "1")
BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")

_SUBSCRIPTED = re.compile(r"([^\[\]]+)\['(.*)'\]", re.DOTALL)


def check_field_reference(reference: Mapping[str, Any], allowed: Sequence[str], path: str, errors: Errors) -> None:
    """`fieldPath` names one of `allowed`, or one label or annotation by its key."""
    api_version, field_path = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not api_version:
        errors.append(field.required(f"{path}.apiVersion"))
        return
    if not field_path:
        errors.append(field.required(f"{path}.fieldPath"))
        return
    subscript = _SUBSCRIPTED.fullmatch(field_path)
    if problem := _conversion_error(api_version, field_path, subscript[1] if subscript else ""):
        errors.append(field.invalid(f"{path}.fieldPath", field_path, f"error converting fieldPath: {problem}"))
    elif subscript:
        key = subscript[2]
        check_qualified_name(key.lower() if subscript[1] == "metadata.annotations" else key, path, errors)
    else:
        name = "spec.nodeName" if field_path == "spec.host" else field_path
        if name not in allowed:
            errors.append(field.not_supported(f"{path}.fieldPath", name, allowed))


def check_resource_reference(reference: Mapping[str, Any], path: str, errors: Errors, *, in_volume: bool) -> None:
    """`resource` is one a container requests or is limited to; a volume must also say which container."""
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        errors.append(field.required(f"{path}.containerName"))
    elif not resource:
        errors.append(field.required(f"{path}.resource"))
    elif resource not in CONTAINER_RESOURCES and not resource.startswith(HUGE_PAGES):
        errors.append(field.not_supported(f"{path}.resource", resource, CONTAINER_RESOURCES))
    _check_divisor(resource, reference.get("divisor") or "0", path, errors)


def _check_divisor(resource: str, divisor: str, path: str, errors: Errors) -> None:
    amount = parse(divisor)
    if amount.is_zero:
        return
    kind = resource.partition(".")[2]
    allowed: Sequence[str]
    if kind == "cpu":
        allowed, text = CPU_DIVISORS, "1m and 1 are supported with the cpu resource"
    elif kind in ("memory", "ephemeral-storage") or resource.startswith(HUGE_PAGES):
        noun = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(kind, "hugepages")
        allowed, text = BYTE_DIVISORS, f"{', '.join(BYTE_DIVISORS)} are supported with the {noun} resource"
    else:
        return
    if str(amount) not in allowed:
        errors.append(field.invalid(f"{path}.divisor", resource, f"only divisor's values {text}"))


def _conversion_error(api_version: str, field_path: str, subscripted: str) -> str:
    if api_version != "v1":
        return f"unsupported pod version: {api_version}"
    if subscripted:
        if subscripted in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {field_path}"
    if field_path in KNOWN_FIELDS or field_path == "spec.host":
        return ""
    return f"field label not supported: {field_path}"
