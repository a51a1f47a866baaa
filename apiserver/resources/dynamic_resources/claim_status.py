"""What a ResourceClaim has got: the allocation, who uses it, and how its devices are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_choice,
    check_dns_label,
    check_required,
    check_with,
)
from apiserver.resources.comparison import same
from apiserver.resources.conditions import check_conditions
from apiserver.resources.dynamic_resources.claim_spec import check_request_reference, request_names
from apiserver.resources.dynamic_resources.device_checks import (
    MAX_CONFIGURATIONS,
    MAX_REQUESTS,
    check_binding_conditions,
    check_configuration,
    check_list,
    check_pool_name,
    check_raw,
)
from apiserver.resources.internal_types import as_internal
from apiserver.resources.pods.node_selectors import check_node_selector
from apiserver.resources.volumes.sources import check_driver_name
from kubeloop.apimachinery import addresses, field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]
DeviceId = tuple[str, str, str, str | None]

MAX_CONSUMERS = 256
MAX_CONDITIONS = 8
MAX_DATA_BYTES = 10 * 1024
MAX_IPS = 16
MAX_INTERFACE_NAME = 256
MAX_HARDWARE_ADDRESS = 128
CONFIGURATION_SOURCES = ("FromClaim", "FromClass")
URN = "urn:uuid:"
UID_LENGTHS = (32, 36, 38, 36 + len(URN))
NOT_NORMAL = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` "
    "with lowercase hexadecimal characters"
)
_is_uid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_is_hex = re.compile(r"[0-9a-f]{32}").fullmatch


def forget_deallocated(new: Object, old: Object) -> None:
    """Devices that were given back have no status here any more."""
    status = new.get("status") or {}
    gone = _allocated(old) - _allocated(new)
    kept = [device for device in status.get("devices") or NO_ITEMS if _device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def check_claim_status(new: Object, old: Object, errors: Errors) -> None:
    status, before = new.get("status") or NO_FIELDS, old.get("status") or NO_FIELDS
    consumers, allocation = status.get("reservedFor"), status.get("allocation")
    check_list(consumers, MAX_CONSUMERS, _check_consumer, "status.reservedFor", errors, key=lambda c: c.get("uid", ""))
    _check_devices(new, "status.devices", errors)
    if consumers and allocation is None:
        reason = "may not be specified when `allocated` is not set"
        errors.append(field.forbidden("status.reservedFor", reason))
    elif "deletionTimestamp" in new["metadata"] and _has_more(consumers, before.get("reservedFor")):
        reason = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(field.forbidden("status.reservedFor", reason))
    if allocation is None:
        return
    if (old_allocation := before.get("allocation")) is None:
        _check_allocation(allocation, request_names(new.get("spec") or NO_FIELDS), "status.allocation", errors)
    elif not same(allocation, old_allocation):
        value = as_internal("AllocationResult", allocation)
        errors.append(field.invalid("status.allocation", value, validation.IMMUTABLE))


def _has_more(items: Sequence[Json] | None, others: Sequence[Json] | None) -> bool:
    return any(item not in (others or NO_ITEMS) for item in items or NO_ITEMS)


def _device_id(device: Json) -> DeviceId:
    return device.get("driver", ""), device.get("pool", ""), device.get("device", ""), device.get("shareID")


def _allocated(claim: Json) -> set[DeviceId]:
    allocation = (claim.get("status") or NO_FIELDS).get("allocation") or NO_FIELDS
    return {_device_id(result) for result in (allocation.get("devices") or NO_FIELDS).get("results") or NO_ITEMS}


def _check_consumer(consumer: Json, path: str, errors: Errors) -> None:
    for name in ("resource", "name", "uid"):
        check_required(consumer.get(name), f"{path}.{name}", errors)


def _check_devices(claim: Json, path: str, errors: Errors) -> None:
    allocated = _allocated(claim)

    def check(device: Json, path: str, errors: Errors) -> None:
        _check_identity(device, path, errors)
        _check_share(device, path, errors)
        if _device_id(device) not in allocated:
            names = ("Driver", "Pool", "Device", "ShareID")
            value = dict(zip(names, _device_id(device), strict=True))
            errors.append(field.invalid(path, value, "must be an allocated device in the claim"))
        conditions = device.get("conditions") or NO_ITEMS
        if len(conditions) > MAX_CONDITIONS:
            errors.append(field.too_many(f"{path}.conditions", len(conditions), MAX_CONDITIONS))
        check_conditions(conditions, f"{path}.conditions", errors)
        if "data" in device:
            check_raw(device["data"], MAX_DATA_BYTES, f"{path}.data", errors)
        _check_network(device.get("networkData") or NO_FIELDS, f"{path}.networkData", errors)

    check_list((claim.get("status") or NO_FIELDS).get("devices"), -1, check, path, errors, key=_device_id)


def _check_identity(device: Json, path: str, errors: Errors) -> None:
    check_driver_name(device.get("driver", ""), f"{path}.driver", errors)
    check_pool_name(device.get("pool", ""), f"{path}.pool", errors)
    check_dns_label(device.get("device", ""), f"{path}.device", errors)


def _check_share(device: Json, path: str, errors: Errors) -> None:
    share = device.get("shareID")
    if share is not None and (reason := _uid_error(share)):
        errors.append(field.invalid(f"{path}.shareID", share, reason))


def _uid_error(text: str) -> str:
    """Why this is no UID; "" where it is one. Other spellings of one are told from what is none at all."""
    length = len(text.encode())
    if length not in UID_LENGTHS:
        return f"error validating uid: invalid UUID length: {length}"
    if length == len(URN) + 36 and text[: len(URN)].lower() != URN:
        return f"error validating uid: invalid urn prefix: {field.go_quote(text[: len(URN)])}"
    if length == 38 and not (text[0] == "{" and text[-1] == "}"):
        return "error validating uid: invalid bracketed UUID format"
    bare = text.lower().removeprefix(URN)
    if not _is_hex(bare) and not _is_uid(bare[1:-1] if length == 38 else bare):
        return "error validating uid: invalid UUID format"
    return "" if _is_uid(text) else NOT_NORMAL


def _check_network(network: Json, path: str, errors: Errors) -> None:
    for name, maximum in (("interfaceName", MAX_INTERFACE_NAME), ("hardwareAddress", MAX_HARDWARE_ADDRESS)):
        if len(network.get(name, "").encode()) > maximum:
            errors.append(field.too_long(f"{path}.{name}", maximum))

    def check_address(address: str, path: str, errors: Errors) -> None:
        check_with(addresses.interface_address_errors(address), address, path, errors)

    check_list(network.get("ips"), MAX_IPS, check_address, f"{path}.ips", errors, key=str)


def _check_allocation(allocation: Json, known: frozenset[str], path: str, errors: Errors) -> None:
    check_reference = partial(check_request_reference, known)

    def check_result(result: Json, path: str, errors: Errors) -> None:
        check_reference(result.get("request", ""), f"{path}.request", errors)
        _check_identity(result, path, errors)
        check_binding_conditions(result, path, errors)
        _check_share(result, path, errors)

    def check_source_and_configuration(configuration: Json, path: str, errors: Errors) -> None:
        check_choice(configuration.get("source"), CONFIGURATION_SOURCES, f"{path}.source", errors)
        requests = configuration.get("requests")
        check_list(requests, MAX_REQUESTS, check_reference, f"{path}.requests", errors, key=str)
        check_configuration(configuration, path, errors)

    devices = allocation.get("devices") or NO_FIELDS
    check_list(devices.get("results"), MAX_REQUESTS, check_result, f"{path}.devices.results", errors)
    at = f"{path}.devices.config"
    check_list(devices.get("config"), 2 * MAX_CONFIGURATIONS, check_source_and_configuration, at, errors)
    if "nodeSelector" in allocation:
        check_node_selector(allocation["nodeSelector"], f"{path}.nodeSelector", errors)
