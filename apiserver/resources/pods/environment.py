"""Environment variables of a container: names, and exactly one place a value comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    Errors,
    check_config_map_key,
    check_dns_label,
    check_dns_subdomain,
    check_with,
)
from apiserver.resources.pods.field_references import VARIABLE_FIELDS, check_field_reference, check_resource_reference
from apiserver.resources.volumes.paths import check_no_backsteps
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]


def check_variables(variables: Sequence[Json], path: str, errors: Errors) -> None:
    for i, variable in enumerate(variables):
        at = f"{path}[{i}]"
        if name := variable.get("name"):
            check_variable_name(name, f"{at}.name", errors)
        else:
            errors.append(field.required(f"{at}.name"))
        if (source := variable.get("valueFrom")) is not None:
            _check_value_source(source, variable.get("value", ""), f"{at}.valueFrom", errors)


def check_variable_sources(sources: Sequence[Json], path: str, errors: Errors) -> None:
    """envFrom: whole ConfigMaps and Secrets."""
    for i, source in enumerate(sources):
        at = f"{path}[{i}]"
        if prefix := source.get("prefix"):
            check_variable_name(prefix, f"{at}.prefix", errors)
        found = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in found:
            _check_object_name(source[name].get("name", ""), f"{at}.{name}.name", errors)
        if not found:
            errors.append(field.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(found) > 1:
            errors.append(field.invalid(path, "", "may not have more than one field specified at a time"))


def check_variable_name(name: str, path: str, errors: Errors) -> None:
    check_with(validation.relaxed_environment_name_errors(name), name, path, errors)


def _check_value_source(source: Json, value: str, path: str, errors: Errors) -> None:
    found = [(name, check) for name, check in VALUE_SOURCES if name in source]
    for name, check in found:
        check(source[name], f"{path}.{name}", errors)
    if not found:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(field.invalid(path, "", f"must specify one of: {names}"))
    elif value:
        errors.append(field.invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(found) > 1:
        errors.append(field.invalid(path, "", "may not have more than one field specified at a time"))


def _check_pod_field(reference: Json, path: str, errors: Errors) -> None:
    check_field_reference(reference, VARIABLE_FIELDS, path, errors)


def _check_container_resource(reference: Json, path: str, errors: Errors) -> None:
    check_resource_reference(reference, path, errors, in_volume=False)


def _check_key_of_object(selector: Json, path: str, errors: Errors) -> None:
    name = selector.get("name", "")
    check_dns_subdomain(name, f"{path}.name", errors)
    if key := selector.get("key"):
        check_config_map_key(key, f"{path}.key", errors)
    else:
        errors.append(field.required(f"{path}.key"))


def _check_key_of_file(selector: Json, path: str, errors: Errors) -> None:
    if key := selector.get("key"):
        check_variable_name(key, f"{path}.key", errors)
    else:
        errors.append(field.required(f"{path}.key"))
    if volume := selector.get("volumeName"):
        check_dns_label(volume, f"{path}.volumeName", errors)
    else:
        errors.append(field.required(f"{path}.volumeName"))
    if file_path := selector.get("path"):
        check_no_backsteps(file_path, f"{path}.path", errors)
    else:
        errors.append(field.required(f"{path}.path"))


def _check_object_name(name: str, path: str, errors: Errors) -> None:
    if name:
        check_with(validation.dns_subdomain_errors(name, True), name, path, errors)
    else:
        errors.append(field.required(path))


VALUE_SOURCES = (
    ("fieldRef", _check_pod_field),
    ("resourceFieldRef", _check_container_resource),
    ("configMapKeyRef", _check_key_of_object),
    ("secretKeyRef", _check_key_of_object),
    ("fileKeyRef", _check_key_of_file),
)
