"""Loops over lists and maps, and the macros on optionals, at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kubeloop.cel.values import NONE, EvaluationError, NoSuchOverload, Optional, UInt

Bindings = dict[str, Any]
Evaluate = Callable[[Bindings], Any]

STEPS = "@steps"  # among the bindings: what may still be spent
TOO_LONG = "operation cancelled: actual cost limit exceeded"


def spend(bindings: Bindings, cost: int) -> None:
    """Charge an evaluation; EvaluationError where it has cost more than one may."""
    steps = bindings[STEPS]
    steps[0] -= cost
    if steps[0] < 0:
        raise EvaluationError(TOO_LONG)


def compiled(
    name: str, ranged: Evaluate, variables: Sequence[str], arguments: Sequence[Evaluate], turn_cost: int
) -> Evaluate:
    """The closure of a macro, each turn of which costs so much."""
    make = _MACROS[name]
    loop = _Loop(ranged, variables, turn_cost)
    return lambda bindings: make(loop, bindings, *arguments)


class _Loop:
    def __init__(self, ranged: Evaluate, variables: Sequence[str], turn_cost: int) -> None:
        self.ranged, self.variables, self._turn_cost = ranged, variables, turn_cost

    def turns(self, bindings: Bindings) -> Iterator[tuple[Any, Any, Bindings]]:
        """First and second variable of each turn, and the bindings with them."""
        inner = dict(bindings)
        names, cost = self.variables, self._turn_cost
        for first, second in self._pairs(self.ranged(bindings)):
            spend(bindings, cost)
            inner[names[0]] = first
            if len(names) == 2:
                inner[names[1]] = second
            yield first, second, inner

    def _pairs(self, value: Any) -> Iterator[tuple[Any, Any]]:
        if isinstance(value, list):
            return iter(enumerate(value)) if len(self.variables) == 2 else ((element, None) for element in value)
        if isinstance(value, Mapping):
            return iter(value.items())
        raise NoSuchOverload


def _holds(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NoSuchOverload
    return value


def _quantified(decisive: bool) -> Callable[..., bool]:
    """all (false decides) and exists (true does); an error counts only where nothing decides."""

    def quantify(loop: _Loop, bindings: Bindings, predicate: Evaluate) -> bool:
        problem: EvaluationError | None = None
        for _, _, inner in loop.turns(bindings):
            try:
                if _holds(predicate(inner)) is decisive:
                    return decisive
            except EvaluationError as error:
                if str(error) == TOO_LONG:
                    raise
                problem = problem or error
        if problem is not None:
            raise problem
        return not decisive

    return quantify


def _exists_one(loop: _Loop, bindings: Bindings, predicate: Evaluate) -> bool:
    return sum(_holds(predicate(inner)) for _, _, inner in loop.turns(bindings)) == 1


def _filter(loop: _Loop, bindings: Bindings, predicate: Evaluate) -> list[Any]:
    return [first for first, _, inner in loop.turns(bindings) if _holds(predicate(inner))]


def _chosen(loop: _Loop, bindings: Bindings, arguments: tuple[Evaluate, ...]) -> Iterator[tuple[Any, Any]]:
    """First variable and result of each turn, of those the filter lets through where there is one."""
    *filters, transform = arguments
    for first, _, inner in loop.turns(bindings):
        if all(_holds(predicate(inner)) for predicate in filters):
            yield first, transform(inner)


def _map(loop: _Loop, bindings: Bindings, *arguments: Evaluate) -> list[Any]:
    return [result for _, result in _chosen(loop, bindings, arguments)]


def _transform_map(loop: _Loop, bindings: Bindings, *arguments: Evaluate) -> dict[Any, Any]:
    return dict(_chosen(loop, bindings, arguments))


def _transform_entries(loop: _Loop, bindings: Bindings, *arguments: Evaluate) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for _, entry in _chosen(loop, bindings, arguments):
        for key, value in entry.items():
            if key in found:
                raise EvaluationError(f"insert failed: key {key} already exists")
            found[key] = value
    return found


def _sort_by(loop: _Loop, bindings: Bindings, key: Evaluate) -> list[Any]:
    keyed = [(key(inner), first) for first, _, inner in loop.turns(bindings)]
    return sorted_by_keys([first for _, first in keyed], [key for key, _ in keyed])


def sorted_by_keys(values: list[Any], keys: list[Any]) -> list[Any]:
    """The values in the order of their keys, all of one type that has an order."""
    if not values:
        return values
    if type(keys[0]) not in _ORDERED:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    return [value for _, value in sorted(zip(keys, values, strict=True), key=lambda pair: pair[0])]


_ORDERED = (int, UInt, float, bool, timedelta, datetime, str, bytes)


def _opt_flat_map(loop: _Loop, bindings: Bindings, body: Evaluate) -> Any:
    value = loop.ranged(bindings)
    if not isinstance(value, Optional):
        raise NoSuchOverload
    return body({**bindings, loop.variables[0]: value.value}) if value.is_present else NONE


def _opt_map(loop: _Loop, bindings: Bindings, body: Evaluate) -> Any:
    return _opt_flat_map(loop, bindings, lambda inner: Optional(body(inner)))


def _bind(loop: _Loop, bindings: Bindings, body: Evaluate) -> Any:
    return body({**bindings, loop.variables[0]: loop.ranged(bindings)})


_MACROS: Mapping[str, Callable[..., Any]] = {
    "all": _quantified(False),
    "exists": _quantified(True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
    "sortBy": _sort_by,
    "optMap": _opt_map,
    "optFlatMap": _opt_flat_map,
    "bind": _bind,
}
