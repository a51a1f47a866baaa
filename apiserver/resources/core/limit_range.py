"""LimitRanges: bounds and defaults for what containers, pods and claims ask for."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_qualified_name
from apiserver.resources.kinds import PlainKind
from apiserver.resources.resource_lists import round_up
from apiserver.resources.resource_names import (
    check_container_resource_name,
    check_resource_name,
    may_be_overcommitted,
)
from kubeloop.apimachinery import field, quantity
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import Quantity

Json = Mapping[str, Any]
Amounts = Mapping[str, Quantity]

TYPES = ("Pod", "Container", "PersistentVolumeClaim")
LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
MAX_MILLI_VALUE = (2**63 - 1) // 1000


class LimitRangeStrategy(PlainKind):
    rechecks_change, rechecks_object = False, True
    allow_create_on_update = True

    def default(self, obj: Object) -> None:
        for limit in obj.setdefault("spec", {}).get("limits") or NO_ITEMS:
            if limit.get("type") == "Container":
                _default_container_limit(limit)
            for name in LISTS:
                if name in limit:
                    round_up(limit[name])

    def prepare_for_create(self, obj: Object) -> None:
        """One without a name gets a UUID for it, made of the one that it has anyhow."""
        super().prepare_for_create(obj)
        metadata = obj["metadata"]
        if not metadata.get("name"):
            metadata["name"] = str(uuid.uuid5(uuid.UUID(metadata["uid"]), "name"))

    def check(self, obj: Object, errors: Errors) -> None:
        types: set[str] = set()
        for i, limit in enumerate(obj["spec"].get("limits") or NO_ITEMS):
            path, kind = f"spec.limits[{i}]", limit.get("type", "")
            _check_type(kind, f"{path}.type", errors)
            if kind in types:
                errors.append(field.duplicate(f"{path}.type", kind))
            types.add(kind)
            _check_limit(limit, kind, path, errors)


def _default_container_limit(limit: Object) -> None:
    """The maximum is the default limit, that the default request, and else the minimum is."""
    default = {**(limit.get("max") or NO_FIELDS), **(limit.get("default") or NO_FIELDS)}
    request = {**(limit.get("min") or NO_FIELDS), **default, **(limit.get("defaultRequest") or NO_FIELDS)}
    if default:
        limit["default"] = default
    if request:
        limit["defaultRequest"] = request


def _check_type(kind: str, path: str, errors: Errors) -> None:
    before = len(errors)
    check_qualified_name(kind, path, errors)
    if len(errors) == before and "/" not in kind and kind not in TYPES:
        errors.append(field.invalid(path, kind, "must be a standard limit type or fully qualified"))


def _check_limit(limit: Json, kind: str, path: str, errors: Errors) -> None:
    amounts: dict[str, Amounts] = {}
    for name in LISTS:
        listed = limit.get(name) or NO_FIELDS
        if name in ("default", "defaultRequest") and kind == "Pod":
            if listed:
                errors.append(field.forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'"))
            listed = NO_FIELDS
        if name == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            _check_storage_bounds(limit, path, errors)
        for resource in listed:
            check = check_container_resource_name if kind in ("Pod", "Container") else check_resource_name
            check(resource, f"{path}.{name}[{resource}]", errors)
        amounts[name] = {resource: quantity.parse(text) for resource, text in listed.items()}
    for resource in dict.fromkeys(resource for listed in amounts.values() for resource in listed):
        _check_amounts(resource, {name: a[resource] for name, a in amounts.items() if resource in a}, path, errors)


def _check_storage_bounds(limit: Json, path: str, errors: Errors) -> None:
    if all("storage" not in (limit.get(name) or NO_FIELDS) for name in ("min", "max")):
        reason = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(field.required(f"{path}.limits", reason))


def _check_amounts(resource: str, of: Amounts, path: str, errors: Errors) -> None:
    """All amounts of one resource are in order: min, default request, default, max."""

    def refuse(where: str, value: Quantity, reason: str) -> None:
        errors.append(field.invalid(f"{path}.{where}[{resource}]", str(value), reason))

    low, high = of.get("min"), of.get("max")
    request, default = of.get("defaultRequest"), of.get("default")
    if low is not None and high is not None and low > high:
        refuse("min", low, f"min value {low} is greater than max value {high}")
    if request is not None and low is not None and low > request:
        refuse("defaultRequest", request, f"min value {low} is greater than default request value {request}")
    if request is not None and high is not None and request > high:
        refuse("defaultRequest", request, f"default request value {request} is greater than max value {high}")
    if request is not None and default is not None and request > default:
        refuse(
            "defaultRequest", request, f"default request value {request} is greater than default limit value {default}"
        )
    if default is not None and low is not None and low > default:
        refuse("default", low, f"min value {low} is greater than default value {default}")
    if default is not None and high is not None and default > high:
        refuse("default", high, f"default value {default} is greater than max value {high}")
    if (ratio := of.get("maxLimitRequestRatio")) is not None:
        if ratio < Quantity(1):
            refuse("maxLimitRequestRatio", ratio, f"ratio {ratio} is less than 1")
        if low is not None and high is not None and (bound := _ratio_bound(low, high, ratio)) is not None:
            refuse("maxLimitRequestRatio", ratio, f"ratio {ratio} is greater than max/min = {bound:.6f}")
    if not may_be_overcommitted(resource) and default is not None and request is not None and default != request:
        reason = f"default value {default} must equal to defaultRequest value {request} in {resource}"
        refuse("defaultRequest", request, reason)


def _ratio_bound(low: Quantity, high: Quantity, ratio: Quantity) -> float | None:
    """max/min where the ratio exceeds it."""
    wanted, least, most = float(ratio.value()), low.value(), high.value()
    if all(number < MAX_MILLI_VALUE for number in (ratio.value(), least, most)):
        wanted, least, most = ratio.milli_value() / 1000, low.milli_value(), high.milli_value()
    bound = most / least if least else float("inf")
    return bound if wanted > bound else None


LIMIT_RANGE = LimitRangeStrategy()
