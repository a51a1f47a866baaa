"""Asking devices whether selectors mean them. Expressions are compiled once, and a device is asked once for each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from controllers.scheduler.dynamic_resources.devices import Device, Json

if TYPE_CHECKING:
    from kubeloop.cel.environment import Program

_MOST_COMPILED = 100  # the least recently used is forgotten, and compiled again when it is needed
_MOST_ANSWERS = 100  # of a device; then all of its are forgotten


class SelectorFailed(Exception):
    """A selector that cannot be compiled, or fails for a device; `str` says which."""


@dataclass(slots=True)
class _Known:
    """A device as expressions see it, and which of them meant it: devices never change, slices get new ones."""

    value: Mapping[str, Any]
    answers: dict[str, bool] = field(default_factory=dict)


class Selectors:
    def __init__(self) -> None:
        self._compiled: OrderedDict[str, Program | str] = OrderedDict()  # or why it is none
        self._devices: WeakKeyDictionary[Device, _Known] = WeakKeyDictionary()

    def match(self, selectors: Sequence[Json], device: Device, whose: str) -> bool:
        """Whether all mean the device. `whose` is what errors begin with."""
        return all(self._matches(selector, device, f"{whose}: selector #{i}") for i, selector in enumerate(selectors))

    def _matches(self, selector: Json, device: Device, which: str) -> bool:
        expression = (selector.get("cel") or {}).get("expression", "")
        known = self._devices.get(device)
        if known is not None and expression in known.answers:
            return known.answers[expression]
        program = self._program(expression)
        if isinstance(program, str):
            raise SelectorFailed(f"{which}: CEL compile error: {program}")
        try:
            return self._ask(program, self._known(device))
        except ValueError as error:
            raise SelectorFailed(f"{which}: CEL runtime error: {error}") from error

    def _ask(self, program: Program, known: _Known) -> bool:
        from kubeloop.cel.devices import matches

        answer = matches(program, known.value)
        if len(known.answers) >= _MOST_ANSWERS:
            known.answers.clear()
        known.answers[program.source] = answer
        return answer

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

    def _known(self, device: Device) -> _Known:
        from kubeloop.cel.devices import device_value

        if device not in self._devices:
            amounts = {name: capacity.value for name, capacity in device.capacity.items()}
            value = device_value(device.id.driver, device.is_shared, device.attributes, amounts)
            self._devices[device] = _Known(value)
        return self._devices[device]
