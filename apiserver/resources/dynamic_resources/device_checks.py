"""The small checks that claims, classes and slices of devices share."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from apiserver.resources.admissionregistration.match_conditions import check_expression
from apiserver.resources.checks import (
    NO_ITEMS,
    Check,
    Errors,
    check_choice,
    check_dns_subdomain,
    check_label_value,
    check_one_of,
    check_qualified_name,
    check_with,
)
from apiserver.resources.volumes.sources import check_driver_name
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]

MAX_REQUESTS = 32
MAX_CONFIGURATIONS = 32
MAX_SELECTORS = 32
MAX_BINDING_CONDITIONS = 4
MAX_PARAMETERS_BYTES = 10 * 1024
MAX_EXPRESSION_BYTES = 10 * 1024
MAX_IDENTIFIER_BYTES = 32
TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
TOLERATION_OPERATORS = ("Equal", "Exists")


def check_list(
    items: Sequence[Any] | None,
    maximum: int,
    check: Check,
    path: str,
    errors: Errors,
    key: Callable[[Any], Hashable] | None = None,
) -> None:
    """Not too many, each good, and with a `key` none twice. Of too many not even one is looked at."""
    items = items or NO_ITEMS
    if 0 <= maximum < len(items):
        errors.append(field.too_many(path, len(items), maximum))
        return
    for i, item in enumerate(items):
        check(item, f"{path}[{i}]", errors)
    seen: set[Hashable] = set()
    for i, item in enumerate(items if key else NO_ITEMS):
        assert key is not None
        if (value := key(item)) in seen:
            errors.append(field.duplicate(f"{path}[{i}]", value))
        seen.add(value)


def name_of(item: Json) -> str:
    name: str = item.get("name", "")
    return name


def check_pool_name(name: str, path: str, errors: Errors) -> None:
    """Names of DNS, with slashes between them."""
    if not name:
        errors.append(field.required(path))
        return
    if len(name.encode()) > validation.MAX_SUBDOMAIN_LENGTH:
        errors.append(field.too_long(path, validation.MAX_SUBDOMAIN_LENGTH))
    for part in name.split("/"):
        check_dns_subdomain(part, path, errors)


def check_selector(selector: Json, path: str, errors: Errors) -> None:
    expression = selector.get("cel")
    if expression is None:
        errors.append(field.required(f"{path}.cel"))
        return
    text, at = expression.get("expression", ""), f"{path}.cel.expression"
    if len(text.encode()) > MAX_EXPRESSION_BYTES:
        errors.append(field.too_long(at, MAX_EXPRESSION_BYTES))
    elif check_expression(text, at, errors):
        _check_compiles(text, at, errors)


def _check_compiles(expression: str, path: str, errors: Errors) -> None:
    """It is one of devices, is true or false, and costs no more than it may."""
    from kubeloop.cel.devices import compile_selector, is_too_costly

    try:
        program = compile_selector(expression)
    except ValueError as error:
        errors.append(field.invalid(path, expression, str(error)))
        return
    if is_too_costly(program):
        errors.append(field.forbidden(path, "too complex, exceeds cost limit"))


def check_configuration(configuration: Json, path: str, errors: Errors) -> None:
    """Parameters for a driver, which nobody else reads."""
    opaque = configuration.get("opaque")
    if opaque is None:
        errors.append(field.required(f"{path}.opaque"))
        return
    check_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver", errors)
    check_raw(opaque.get("parameters"), MAX_PARAMETERS_BYTES, f"{path}.opaque.parameters", errors)


def check_raw(value: Any, maximum: int, path: str, errors: Errors) -> None:
    if value is None:
        errors.append(field.required(path))
    elif len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) > maximum:
        errors.append(field.too_long(path, maximum))
    elif not isinstance(value, Mapping):
        errors.append(field.invalid(path, "<value omitted>", "must be a valid JSON object"))


def check_toleration(toleration: Json, path: str, errors: Errors) -> None:
    key, operator, value = (toleration.get(name, "") for name in ("key", "operator", "value"))
    if key:
        check_qualified_name(key, f"{path}.key", errors)
    if operator == "Exists":
        if value:
            errors.append(field.invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        check_label_value(value, f"{path}.value", errors)
    else:
        check_choice(operator, TOLERATION_OPERATORS, f"{path}.operator", errors)
    if effect := toleration.get("effect"):
        check_one_of(effect, TAINT_EFFECTS, f"{path}.effect", errors)


def check_taint(taint: Json, path: str, errors: Errors) -> None:
    check_qualified_name(taint.get("key", ""), f"{path}.key", errors)
    check_label_value(taint.get("value", ""), f"{path}.value", errors)
    check_choice(taint.get("effect"), TAINT_EFFECTS, f"{path}.effect", errors)


def check_attribute_name(name: str, path: str, errors: Errors) -> None:
    """`[domain/]name`, the name a C identifier."""
    domain, slash, identifier = name.rpartition("/")
    if name.count("/") > 1:
        return
    if slash and not domain:
        errors.append(field.invalid(path, "", "the domain must not be empty"))
    elif slash:
        check_driver_name(domain, path, errors)
    if slash and not identifier:
        errors.append(field.invalid(path, "", "the name must not be empty"))
        return
    if len(identifier.encode()) > MAX_IDENTIFIER_BYTES:
        errors.append(field.too_long(path, MAX_IDENTIFIER_BYTES))
    check_with(validation.c_identifier_errors(identifier), identifier, path, errors)


def check_full_attribute_name(name: str, path: str, errors: Errors) -> None:
    check_attribute_name(name, path, errors)
    if "/" not in name:
        reason = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(field.invalid(path, name, reason))


def check_binding_conditions(holder: Json, path: str, errors: Errors) -> None:
    """What must hold before pods are bound to a device, and what ends the wait: both or neither, and all different."""
    wanted, failures = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
    lists = (("bindingConditions", wanted), ("bindingFailureConditions", failures))
    for name, conditions in lists:
        check_list(conditions, MAX_BINDING_CONDITIONS, check_qualified_name, f"{path}.{name}", errors)
    for name, conditions in lists:
        for i, condition in enumerate(conditions):
            at = f"{path}.{name}[{i}]"
            if condition in conditions[:i]:
                errors.append(field.duplicate(at, condition))
            if conditions is failures and condition in wanted:
                reason = "bindingFailureConditions must not overlap with bindingConditions"
                errors.append(field.invalid(at, condition, reason))
    for (name, conditions), (other, others) in ((lists[0], lists[1]), (lists[1], lists[0])):
        if others and not conditions:
            reason = f"{name} are required to use {other}"
            errors.append(field.invalid(f"{path}.{name}", conditions or None, reason))
