"""Checked syntax trees to Python functions: each node becomes one closure from bindings to a value.

Errors are values' absence, as in CEL: `false && error` is false, and `[…].exists(x, …)` is true if one element makes it
so, whatever others do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from kubeloop.cel import comprehensions
from kubeloop.cel.checker import TYPE_NAMES, qualified_name
from kubeloop.cel.cost.charges import SHORT, charge, charge_comparison, charge_search, is_charged
from kubeloop.cel.cost.turns import turn_cost
from kubeloop.cel.functions import Library
from kubeloop.cel.standard import to_string
from kubeloop.cel.syntax import Call, Ident, ListNode, Literal, Macro, MapNode, Node, Select, Struct
from kubeloop.cel.types import DOUBLE, DURATION, UINT, Type
from kubeloop.cel.values import (
    NONE,
    EvaluationError,
    NoSuchOverload,
    Optional,
    StructValue,
    TypeValue,
    UInt,
    contains,
    equal,
    type_name,
)

Bindings = dict[str, Any]
Evaluate = Callable[[Bindings], Any]

STEPS = comprehensions.STEPS
_TEXTS, _SIZED = (str, bytes), (str, bytes, list, dict)
SUM_OF_NONE: Mapping[Type, Any] = {DOUBLE: 0.0, UINT: UInt(0), DURATION: timedelta()}


def compile_node(node: Node, functions: Library) -> Evaluate:
    """The closure of a node that the checker has passed."""
    return _Compiler(functions).compile(node)


class _Compiler:
    def __init__(self, functions: Library) -> None:
        self._functions = functions

    def compile(self, node: Node) -> Evaluate:
        match node:
            case Literal():
                value = node.value
                return lambda bindings: value
            case Ident():
                return _ident(node.name)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Struct():
                return self._struct(node)
            case Macro():
                arguments = [self.compile(argument) for argument in node.arguments]
                ranged, cost = self.compile(node.range), turn_cost(node)
                return comprehensions.compiled(node.name, ranged, node.variables, arguments, cost)
        raise AssertionError("every node is one of these")

    def _select(self, node: Select) -> Evaluate:
        name = qualified_name(node)
        if name in TYPE_NAMES:
            value = TypeValue(name)
            return lambda bindings: value
        if node.variable:
            return _ident(node.variable)
        operand, key = self.compile(node.operand), node.key
        if node.is_test:
            return lambda bindings: _has(operand(bindings), key)
        if node.is_optional or node.operand.type.name == "optional_type":
            return lambda bindings: _optional_at(operand(bindings), key)

        def select(bindings: Bindings) -> Any:
            value = operand(bindings)
            if type(value) is dict:
                try:
                    return value[key]
                except KeyError:
                    raise EvaluationError(f"no such key: {key}") from None
            return _at(value, key)

        return select

    def _call(self, node: Call) -> Evaluate:
        arguments = [self.compile(argument) for argument in node.arguments]
        if node.target is None and (special := _SPECIAL.get(node.function)) is not None:
            return special(*arguments)
        implementation = self._functions[node.function].implementation
        if node.function == "sum" and node.type in SUM_OF_NONE:
            implementation = _summed(implementation, SUM_OF_NONE[node.type])
        if node.target is not None:
            arguments = [self.compile(node.target), *arguments]
        if is_charged(node.function):
            return _charged(node.function, implementation, arguments, is_member=node.target is not None)
        if len(arguments) == 1:
            (only,) = arguments
            return lambda bindings: implementation(only(bindings))
        if len(arguments) == 2:
            first, second = arguments
            return lambda bindings: implementation(first(bindings), second(bindings))
        return lambda bindings: implementation(*(argument(bindings) for argument in arguments))

    def _list(self, node: ListNode) -> Evaluate:
        elements, optional = [self.compile(element) for element in node.elements], node.optional
        if not optional:
            return lambda bindings: [element(bindings) for element in elements]

        def made(bindings: Bindings) -> list[Any]:
            found = []
            for i, element in enumerate(elements):
                value = element(bindings)
                if i not in optional:
                    found.append(value)
                elif value.is_present:
                    found.append(value.value)
            return found

        return made

    def _map(self, node: MapNode) -> Evaluate:
        entries = [(self.compile(key), self.compile(value)) for key, value in node.entries]
        optional = node.optional

        def made(bindings: Bindings) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            for i, (key, value) in enumerate(entries):
                made_key, made_value = key(bindings), value(bindings)
                if i in optional:
                    if not made_value.is_present:
                        continue
                    made_value = made_value.value
                found[made_key] = made_value
            return found

        return made

    def _struct(self, node: Struct) -> Evaluate:
        entries = [(key, self.compile(value), i in node.optional) for i, (key, value) in enumerate(node.entries)]
        name = node.name

        def made(bindings: Bindings) -> StructValue:
            found: dict[str, Any] = {}
            for key, value, is_optional in entries:
                field = value(bindings)
                if not is_optional:
                    found[key] = field
                elif field.is_present:
                    found[key] = field.value
            return StructValue(name, found)

        return made


def _charged(
    name: str, implementation: Callable[..., Any], arguments: Sequence[Evaluate], *, is_member: bool
) -> Evaluate:
    """A call that may cost more than others, which is paid before it is made."""

    def call(bindings: Bindings) -> Any:
        values = [argument(bindings) for argument in arguments]
        if cost := charge(name, values, is_member=is_member):
            comprehensions.spend(bindings, cost)
        return implementation(*values)

    return call


def _summed(implementation: Callable[[Any], Any], of_none: Any) -> Callable[[Any], Any]:
    """A sum that is of the list's type even where the list is empty."""
    return lambda values: of_none if values == [] else implementation(values)


def _ident(name: str) -> Evaluate:
    type_value = TypeValue(name) if name in TYPE_NAMES else None

    def ident(bindings: Bindings) -> Any:
        try:
            return bindings[name]
        except KeyError:
            if type_value is not None:
                return type_value
            raise EvaluationError(f"no such attribute(s): {name}") from None

    return ident


def _at(value: Any, key: Any) -> Any:
    """Indexing, also into what only looks like a dict, and into optionals. What holds nothing has no key."""
    if isinstance(value, Optional):
        return _optional_at(value, key)
    if isinstance(value, list):
        place = _place(key)
        if not 0 <= place < len(value):
            raise EvaluationError(f"index out of bounds: {place}")
        return value[place]
    if not isinstance(value, Mapping) or not _has_key(value, key):
        raise EvaluationError(f"no such key: {to_string(key)}")
    return value[key]


def _place(key: Any) -> int:
    if isinstance(key, bool) or not isinstance(key, int | float):
        raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
    if int(key) != key:
        raise EvaluationError(f"unsupported index value {to_string(key)} in list")
    return int(key)


def _has_key(value: Mapping[Any, Any], key: Any) -> bool:
    return not isinstance(key, list | dict) and key in value


def _optional_at(value: Any, key: Any) -> Optional:
    if isinstance(value, Optional):
        if not value.is_present:
            return NONE
        value = value.value
    if isinstance(value, list):
        place = _place(key)
        return Optional(value[place]) if 0 <= place < len(value) else NONE
    return Optional(value[key]) if isinstance(value, Mapping) and _has_key(value, key) else NONE


def _has(value: Any, key: str) -> bool:
    if isinstance(value, Optional):
        return value.is_present and _has(value.value, key)
    if isinstance(value, list):
        _place(key)
    return isinstance(value, Mapping) and key in value


def _connective(decisive: bool) -> Callable[[Evaluate, Evaluate], Evaluate]:
    """&& and ||: the side that decides wins over an error of the other."""

    def connect(left: Evaluate, right: Evaluate) -> Evaluate:
        def connected(bindings: Bindings) -> bool:
            problem: EvaluationError | None = None
            try:
                first = left(bindings)
                if first is decisive:
                    return decisive
                if not isinstance(first, bool):
                    problem = NoSuchOverload()
            except EvaluationError as error:
                problem = error
            second = right(bindings)
            if second is decisive:
                return decisive
            if problem is not None:
                raise problem
            if not isinstance(second, bool):
                raise NoSuchOverload
            return second

        return connected

    return connect


def _choice(condition: Evaluate, yes: Evaluate, no: Evaluate) -> Evaluate:
    def choose(bindings: Bindings) -> Any:
        chosen = condition(bindings)
        if not isinstance(chosen, bool):
            raise NoSuchOverload
        return yes(bindings) if chosen else no(bindings)

    return choose


def _two(
    combine: Callable[[Any, Any], Any], price: Callable[[Any, Any], int] | None = None
) -> Callable[[Evaluate, Evaluate], Evaluate]:
    """A function of both sides, and what it costs where one of them is long."""
    if price is None:
        return lambda left, right: lambda bindings: combine(left(bindings), right(bindings))

    def priced(left: Evaluate, right: Evaluate) -> Evaluate:
        def call(bindings: Bindings) -> Any:
            first, second = left(bindings), right(bindings)
            if isinstance(second, _SIZED) and not (isinstance(second, _TEXTS) and len(second) <= SHORT):
                comprehensions.spend(bindings, price(first, second))
            return combine(first, second)

        return call

    return priced


_SPECIAL: Mapping[str, Callable[..., Evaluate]] = {
    "_&&_": _connective(False),
    "_||_": _connective(True),
    "_==_": _two(equal, charge_comparison),
    "_!=_": _two(lambda left, right: not equal(left, right), charge_comparison),
    "_?_:_": _choice,
    "@in": _two(lambda element, holder: contains(holder, element), charge_search),
    "_[_]": _two(_at),
    "_[?_]": _two(_optional_at),
}
