"""One device of a ResourceSlice: what it is, how much of it there is, and what of it others may use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_dns_label, check_dns_subdomain
from apiserver.resources.dynamic_resources.device_checks import (
    check_attribute_name,
    check_binding_conditions,
    check_list,
    check_taint,
)
from apiserver.resources.internal_types import as_internal
from apiserver.resources.pods.node_selectors import check_node_selector
from kubeloop.apimachinery import field, quantity
from kubeloop.apimachinery.quantity import Quantity

Json = Mapping[str, Any]

MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_VALUE_BYTES = 64
MAX_TAINTS = 16
MAX_CONSUMPTIONS = 2
MAX_COUNTERS = 32
MAX_VALID_VALUES = 10
VALUE_KINDS = ("bool", "int", "string", "version")
WHERE = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"
IN_SLICE = "when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
NOT_WHERE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
    "is set to true in the ResourceSlice spec"
)
_NUMBER = r"(0|[1-9][0-9]*)"
_PRERELEASE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_is_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
).fullmatch


def check_device(device: Json, says_where: bool, path: str, errors: Errors) -> None:
    """`says_where`: each device of the slice names its nodes itself."""
    attributes, capacity = device.get("attributes") or NO_FIELDS, device.get("capacity") or NO_FIELDS
    check_dns_label(device.get("name", ""), f"{path}.name", errors)
    if (count := len(attributes) + len(capacity)) > MAX_ATTRIBUTES_AND_CAPACITIES:
        reason = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES_AND_CAPACITIES}"
        errors.append(field.invalid(path, count, reason))
    for name, attribute in attributes.items():
        check_attribute_name(name, f"{path}.attributes", errors)
        _check_attribute(attribute, f"{path}.attributes[{name}]", errors)
    for name, amount in capacity.items():
        check_attribute_name(name, f"{path}.capacity", errors)
        is_shared = device.get("allowMultipleAllocations", False)
        _check_capacity(amount, is_shared, f"{path}.capacity[{name}]", errors)
    check_list(device.get("taints"), MAX_TAINTS, check_taint, f"{path}.taints", errors)
    consumptions, at = device.get("consumesCounters"), f"{path}.consumesCounters"
    check_list(consumptions, MAX_CONSUMPTIONS, _check_consumption, at, errors, key=lambda c: c.get("counterSet", ""))
    _check_nodes(device, says_where, path, errors)
    check_binding_conditions(device, path, errors)


def check_counters(counters: Json | None, path: str, errors: Errors) -> None:
    if not counters:
        errors.append(field.required(path))
    elif len(counters) > MAX_COUNTERS:
        errors.append(field.too_many(path, len(counters), MAX_COUNTERS))
    else:
        for name in counters:
            check_dns_label(name, path, errors)


def _check_attribute(attribute: Json, path: str, errors: Errors) -> None:
    values = [(name, attribute[name]) for name in VALUE_KINDS if name in attribute]
    for name, value in values:
        if name == "version" and not _is_version(value):
            reason = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(field.invalid(f"{path}.{name}", value, reason))
        if name in ("string", "version") and len(value.encode()) > MAX_VALUE_BYTES:
            errors.append(field.too_long(f"{path}.{name}", MAX_VALUE_BYTES))
    if len(values) != 1:
        value = as_internal("DeviceAttribute", attribute) if values else ""
        errors.append(field.invalid(path, value, "exactly one value must be specified"))


def _check_consumption(consumption: Json, path: str, errors: Errors) -> None:
    if name := consumption.get("counterSet"):
        check_dns_label(name, f"{path}.counterSet", errors)
    else:
        errors.append(field.required(f"{path}.counterSet"))
    check_counters(consumption.get("counters"), f"{path}.counters", errors)


def _check_nodes(device: Json, says_where: bool, path: str, errors: Errors) -> None:
    name, selector, everywhere = (device.get(key) for key in ("nodeName", "nodeSelector", "allNodes"))
    if not says_where:
        if not (name is None and selector is None and everywhere is None):
            errors.append(field.invalid(path, None, NOT_WHERE))
        return
    said = []
    if name == "":
        errors.append(field.invalid(f"{path}.nodeName", name, "must not be empty"))
    elif name is not None:
        said.append("`nodeName`")
        check_dns_subdomain(name, f"{path}.nodeName", errors)
    if selector is not None:
        said.append("`nodeSelector`")
        check_node_selector(selector, f"{path}.nodeSelector", errors)
    if everywhere:
        said.append("`allNodes`")
    elif everywhere is not None:
        errors.append(field.invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true"))
    if not said:
        errors.append(field.required(path, f"{WHERE} {IN_SLICE}"))
    elif len(said) > 1:
        errors.append(field.invalid(path, f"{{{', '.join(said)}}}", f"{WHERE} {IN_SLICE}"))


def _check_capacity(capacity: Json, is_shared: bool, path: str, errors: Errors) -> None:
    """How much a request gets, where several share a device."""
    policy, at = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return
    if not is_shared:
        errors.append(field.forbidden(at, "allowMultipleAllocations must be true"))
        return
    values, bounds, whole = policy.get("validValues"), policy.get("validRange"), quantity.parse(capacity["value"])
    if values and bounds is not None:
        reason = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        errors.append(field.forbidden(at, reason))
        return
    name = "validValues" if values else "validRange"
    if not values and bounds is None:
        return
    if (said := policy.get("default")) is None:
        errors.append(field.required(f"{at}.default", f"required when {name} is defined"))
        return
    default = quantity.parse(said)
    if values:
        _check_valid_values([quantity.parse(value) for value in values], default, whole, f"{at}.{name}", errors)
    else:
        _check_valid_range(bounds or NO_FIELDS, default, whole, f"{at}.{name}", errors)


def _check_valid_values(
    values: Sequence[Quantity], default: Quantity, whole: Quantity, path: str, errors: Errors
) -> None:
    for i, value in enumerate(values[1:], 1):
        if values[i - 1] > value:
            errors.append(field.invalid(f"{path}[{i}]", str(value), "values must be sorted in ascending order"))

    def check(value: Quantity, path: str, errors: Errors) -> None:
        if value > whole:
            reason = f"option is larger than capacity value: {whole}"
            errors.append(field.invalid(path, str(value), reason))

    check_list(values, MAX_VALID_VALUES, check, path, errors, key=lambda value: str(value.value()))
    if default not in values:
        reason = "default value is not valid according to the requestPolicy"
        errors.append(field.invalid(path, str(default), reason))


def _check_valid_range(bounds: Json, default: Quantity, whole: Quantity, path: str, errors: Errors) -> None:
    lowest, highest, step = (bounds.get(name) for name in ("min", "max", "step"))
    if lowest is None:
        errors.append(field.required(f"{path}.min", "required when validRange is defined"))
        return
    least = quantity.parse(lowest)
    most = None if highest is None else quantity.parse(highest)
    rules = [
        ("min", least, least > whole, f"min is larger than capacity value: {whole}"),
        ("min", default, default < least, f"default is less than min: {least}"),
    ]
    if most is not None:
        rules += [
            ("max", least, least > most, f"min is larger than max: {most}"),
            ("max", most, most > whole, f"max is larger than capacity value: {whole}"),
            ("max", default, default > most, f"default is more than max: {most}"),
        ]
    for name, value, is_broken, reason in rules:
        if is_broken:
            errors.append(field.invalid(f"{path}.{name}", str(value), reason))
    if step is not None:
        _check_step(step, least, whole, [default, *([most] if most else NO_ITEMS)], f"{path}.step", errors)


def _check_step(
    step_text: str, least: Quantity, whole: Quantity, values: Sequence[Quantity], path: str, errors: Errors
) -> None:
    step = quantity.parse(step_text)
    first = quantity.of_value(least.value() + step.value())
    if first > whole:
        reason = f"one step {first} is larger than capacity value: {whole}"
        errors.append(field.invalid(path, str(step), reason))
    for value in values:
        if step.value() and (value.value() - least.value()) % step.value():
            reason = f"value is not a multiple of a given step ({step}) from ({least})"
            errors.append(field.invalid(path, str(value), reason))
