"""Asking devices whether selectors mean them. Expressions are compiled once, and devices made values of once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from controllers.scheduler.dynamic_resources.devices import Device, Json

if TYPE_CHECKING:
    from kubeloop.cel.environment import Program

_MOST_COMPILED = 100  # the least recently used is forgotten, and compiled again when it is needed


class SelectorFailed(Exception):
    """A selector that cannot be compiled, or fails for a device; `str` says which."""


class Selectors:
    def __init__(self) -> None:
        self._compiled: OrderedDict[str, Program | str] = OrderedDict()  # or why it is none
        self._values: WeakKeyDictionary[Device, Any] = WeakKeyDictionary()

    def match(self, selectors: Sequence[Json], device: Device, whose: str) -> bool:
        """Whether all mean the device. `whose` is what errors begin with."""
        return all(self._matches(selector, device, f"{whose}: selector #{i}") for i, selector in enumerate(selectors))

    def _matches(self, selector: Json, device: Device, which: str) -> bool:
        from kubeloop.cel.devices import matches

        program = self._program((selector.get("cel") or {}).get("expression", ""))
        if isinstance(program, str):
            raise SelectorFailed(f"{which}: CEL compile error: {program}")
        try:
            return matches(program, self._value(device))
        except ValueError as error:
            raise SelectorFailed(f"{which}: CEL runtime error: {error}") from error

    def _program(self, expression: str) -> Program | str:
        from kubeloop.cel.devices import compile_selector

        if expression not in self._compiled:
            try:
                self._compiled[expression] = compile_selector(expression)
            except ValueError as error:
                self._compiled[expression] = str(error)
            if len(self._compiled) > _MOST_COMPILED:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(expression)
        return self._compiled[expression]

    def _value(self, device: Device) -> Any:
        from kubeloop.cel.devices import device_value

        if device not in self._values:
            amounts = {name: capacity.value for name, capacity in device.capacity.items()}
            self._values[device] = device_value(device.id.driver, device.is_shared, device.attributes, amounts)
        return self._values[device]
