"""Constraints between the devices of a claim: an attribute that all have alike, or that differs from one to the next.

Facts: structured/internal/incubating/allocator_incubating.go, constraint.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from controllers.scheduler.dynamic_resources.devices import Device
from controllers.scheduler.dynamic_resources.requests import Request

Value = Mapping[str, Any]  # an attribute: its type, and what it is


class Constraint(Protocol):
    """What is added is removed in the reverse order. Once something does not fit, more devices do not help."""

    def add(self, request: Request, device: Device) -> bool: ...

    def remove(self, request: Request) -> None: ...


class MatchAttribute:
    """The attribute is the same on all devices."""

    def __init__(self, requests: Sequence[str], attribute: str) -> None:
        self._requests, self._attribute = requests, attribute
        self._value: Value | None = None
        self._devices = 0

    def add(self, request: Request, device: Device) -> bool:
        if not _concerns(self._requests, request):
            return True
        value = attribute_of(device, self._attribute)
        if value is None or (self._devices and not _is_same(value, self._value)):
            return False
        self._value = value
        self._devices += 1
        return True

    def remove(self, request: Request) -> None:
        if _concerns(self._requests, request):
            self._devices -= 1


class DistinctAttribute:
    """The attribute is another one on every device."""

    def __init__(self, requests: Sequence[str], attribute: str) -> None:
        self._requests, self._attribute = requests, attribute
        self._values: list[Value] = []

    def add(self, request: Request, device: Device) -> bool:
        if not _concerns(self._requests, request):
            return True
        value = attribute_of(device, self._attribute)
        if value is None or any(_is_same(value, other) for other in self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, request: Request) -> None:
        if _concerns(self._requests, request):
            self._values.pop()


def constraint_of(constraint: Mapping[str, Any]) -> Constraint | None:
    """None where it is of a kind that is not known here."""
    requests = constraint.get("requests") or ()
    if constraint.get("matchAttribute") is not None:
        return MatchAttribute(requests, constraint["matchAttribute"])
    if constraint.get("distinctAttribute") is not None:
        return DistinctAttribute(requests, constraint["distinctAttribute"])
    return None


def attribute_of(device: Device, full_name: str) -> Value | None:
    """Attributes without a domain are of the driver's."""
    if full_name in device.attributes:
        return device.attributes[full_name]
    domain, _, name = full_name.partition("/")
    return device.attributes.get(name) if domain == device.id.driver else None


def _concerns(names: Sequence[str], request: Request) -> bool:
    return not names or request.is_among(names)


def _is_same(value: Value, other: Value | None) -> bool:
    """Of one type, and the same; a number is never a truth."""
    if other is None:
        return False
    return any(name in value and name in other and value[name] == other[name] for name in _TYPES)


_TYPES = ("string", "int", "bool", "version")
