"""Whether the devices of an allocated claim are ready for pods: drivers tell by conditions in the claim's status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controllers.device_claims import allocation_of, results_of
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of
from kubeloop.apimachinery.times import parse_time

BINDING_SECONDS = 600.0  # the default of bindingTimeout


class BindingFailed(Exception):
    """The pod cannot have its devices here after all."""


def is_ready(claim: ReadOnlyObject, now: datetime, timeout_seconds: float) -> bool:
    """Raises BindingFailed where a driver gave up, or should have been ready long ago."""
    if _is_ready(claim):
        return True
    if _is_late(claim, now, timeout_seconds):
        raise BindingFailed(f"device binding timeout: claim={name_of(claim)}")
    return False


def _is_ready(claim: ReadOnlyObject) -> bool:
    if allocation_of(claim) is None:
        return False
    for result in results_of(claim):
        if not result.get("bindingConditions"):
            continue
        conditions = _conditions_of(claim, result)
        if conditions is None:
            return False
        for kind in result.get("bindingFailureConditions") or ():
            if conditions.get(kind, {}).get("status") == "True":
                reason, message = (conditions[kind].get(name, "") for name in ("reason", "message"))
                told = f"claim={name_of(claim)}, reason={reason}, message={go_quote(message)}"
                raise BindingFailed(f"device binding failed: {told}")
        if any(conditions.get(kind, {}).get("status") != "True" for kind in result["bindingConditions"]):
            return False
    return True


def _conditions_of(claim: ReadOnlyObject, result: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]] | None:
    """By type; None where the driver has said nothing of the device yet."""
    for device in (claim.get("status") or {}).get("devices") or ():
        if all(device.get(name) == result.get(name) for name in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in device.get("conditions") or ()}
    return None


def _is_late(claim: ReadOnlyObject, now: datetime, timeout_seconds: float) -> bool:
    moment = (allocation_of(claim) or {}).get("allocationTimestamp")
    if not moment or not any(result.get("bindingConditions") for result in results_of(claim)):
        return False
    return (now - parse_time(moment)).total_seconds() > timeout_seconds
