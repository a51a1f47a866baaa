"""Capacities of devices, and how much of one a request takes: what it asks for, as the device lets it be rounded.

Facts: structured/internal/incubating/consumable_capacity.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeloop.apimachinery.quantity import BINARY_SI, Quantity, of_value, parse

Amounts = Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Capacity:
    """`value` in all; `default` is taken where nothing is asked for. None: no such rule."""

    value: Quantity
    default: Quantity | None = None
    valid_values: Sequence[Quantity] = ()
    least: Quantity | None = None
    most: Quantity | None = None
    step: Quantity | None = None

    @classmethod
    def of(cls, capacity: Mapping[str, Any]) -> Capacity:
        policy = capacity.get("requestPolicy") or {}
        range_ = policy.get("validRange") or {}
        return cls(
            parse(str(capacity.get("value", "0"))),
            _parsed(policy.get("default")),
            [parse(str(value)) for value in policy.get("validValues") or ()],
            _parsed(range_.get("min")),
            _parsed(range_.get("max")),
            _parsed(range_.get("step")),
        )

    def taken(self, asked: Quantity | None) -> Quantity:
        """What is taken for so much, rounded up to what may be taken."""
        if asked is None:
            return self.value if self.default is None else self.default
        if self.least is not None:
            return self._in_steps(asked, self.least)
        return next((value for value in self.valid_values if asked <= value), asked)

    def allows(self, taken: Quantity) -> bool:
        if self.default is not None and taken == self.default:
            return True
        if self.valid_values:
            return taken in self.valid_values
        if self.most is not None and taken > self.most:
            return False
        if self.step is None or self.least is None:
            return True
        return (taken.value() - self.least.value()) % self.step.value() == 0

    def _in_steps(self, asked: Quantity, least: Quantity) -> Quantity:
        if asked < least:
            return least
        if self.step is None:
            return asked
        step, start = self.step.value(), least.value()
        return of_value(start + -(-(asked.value() - start) // step) * step, BINARY_SI)


def taken_of(capacities: Mapping[str, Capacity], asked: Amounts) -> dict[str, Quantity]:
    """What a request takes of a device, by the names of its capacities."""
    return {name: capacity.taken(asked.get(name)) for name, capacity in capacities.items()}


def is_enough(capacities: Mapping[str, Capacity], asked: Amounts, used: Sequence[Amounts]) -> bool:
    """Whether a device has so much left. What it does not have at all, it never has enough of."""
    if not asked.keys() <= capacities.keys():
        return False
    for name, taken in taken_of(capacities, asked).items():
        if not capacities[name].allows(taken):
            return False
        for amounts in used:
            if name in amounts:
                taken = taken + amounts[name]
        if taken > capacities[name].value:
            return False
    return True


def _parsed(text: Any) -> Quantity | None:
    return None if text is None else parse(str(text))
