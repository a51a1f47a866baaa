"""What calls cost, charged while expressions run: those whose time or result grows with long texts and lists.

A turn of a loop is charged its body once, as if all values were short (`turns.py`); this is what long ones cost beyond
that, so that no expression holds the server up, whatever objects it meets. The numbers are those of the estimate; where
upstream's leave out what grows (a text formatted or replaced in, lists compared or joined), that is charged as well.
Short operands cost a look at their lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeloop.cel.cost.calls import REGULAR, TRAVERSAL, Operand, call_cost
from kubeloop.cel.cost.ranges import NOTHING, Range
from kubeloop.cel.syntax import Literal
from kubeloop.cel.types import BYTES, DYN, INT, STRING, Type, list_of

SHORT = 10  # what is not longer costs 1, which the turn has paid

Values = Sequence[Any]
_SIZED = (str, bytes, list)
_BY_TYPE: Mapping[type, Type] = {str: STRING, bytes: BYTES, int: INT}


def is_charged(name: str) -> bool:
    """Whether calls of a function may cost more than 1."""
    return name in _OWN or name in REGULAR


def charge(name: str, values: Values, *, is_member: bool) -> int:
    """What a call costs beyond the 1 that is charged for any; `values` begin with the receiver of a method."""
    own = _OWN.get(name)
    return own(values) if own is not None else _as_estimated(name, values, is_member=is_member)


def _as_estimated(name: str, values: Values, *, is_member: bool) -> int:
    if not any(isinstance(value, _SIZED) and len(value) > SHORT for value in values):
        return 0
    operands = [_operand(value) for value in values]
    target, arguments = (operands[0], operands[1:]) if is_member else (None, operands)
    return call_cost(name, [operand.type for operand in operands], target, arguments).cost.most - 1


def charge_comparison(left: Any, right: Any) -> int:
    """Of `==`: texts up to the shorter one's end, lists and maps of one size with all there is in them."""
    if isinstance(left, str | bytes):
        return _traversal(min(len(left), len(right))) if isinstance(right, str | bytes) else 0
    if isinstance(left, list | Mapping) and isinstance(right, list | Mapping) and len(left) == len(right):
        return max(_members(left) - SHORT, 0)
    return 0


def charge_search(element: Any, holder: Any) -> int:
    """Of `in`: a list is compared member by member."""
    if not isinstance(holder, list):
        return 0
    each = _members(element) if isinstance(element, list | Mapping) else 1
    return max(len(holder) * each - 1, 0)


def _operand(value: Any) -> Operand:
    size = Range.exactly(len(value)) if isinstance(value, str | bytes | list | Mapping) else None
    if isinstance(value, list):
        texts = [len(element) for element in value if isinstance(element, str | bytes)]
        of = list_of(STRING) if texts else list_of(DYN)
        return Operand(Literal(0, value), of, size, Range.exactly(-(-sum(texts) // max(len(value), 1))))
    return Operand(Literal(0, value), _BY_TYPE.get(type(value), DYN), size, NOTHING)


def _traversal(size: int) -> int:
    return max(int(size * TRAVERSAL) - 1, 0)


def _members(value: Any) -> int:
    """Of a list or map, and of all those in it."""
    inner = value.values() if isinstance(value, Mapping) else value
    return len(value) + sum(_members(member) for member in inner if isinstance(member, list | Mapping))


def _characters(value: Any) -> int:
    """Of all texts in a value, which is written out as a text."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list):
        return len(value) + sum(map(_characters, value))
    if isinstance(value, Mapping):
        return len(value) + sum(_characters(key) + _characters(member) for key, member in value.items())
    return 1


def _concatenation(values: Values) -> int:
    left, right = values
    return _traversal(len(left) + len(right)) if isinstance(left, _SIZED) and isinstance(right, _SIZED) else 0


def _replacement(values: Values) -> int:
    """The text is read twice, and its result is written."""
    text, old, new, *limit = values
    if not (isinstance(text, str) and isinstance(old, str) and isinstance(new, str)):
        return 0
    times = text.count(old)
    if limit and isinstance(limit[0], int) and limit[0] >= 0:
        times = min(times, limit[0])
    return _traversal(max(2 * len(text), len(text) + times * (len(new) - len(old))))


def _formatting(values: Values) -> int:
    return _traversal(sum(map(_characters, values)))


def _conversion(values: Values) -> int:
    return _traversal(len(values[0])) if isinstance(values[0], str | bytes) else 0


def _pairs(values: Values) -> int:
    """Every element of a list is compared with those before it."""
    return len(values[0]) ** 2 if isinstance(values[0], list) and len(values[0]) > SHORT else 0


def _elements(values: Values) -> int:
    return len(values[0]) if isinstance(values[0], list) else 0


def _flattening(values: Values) -> int:
    return _members(values[0]) if isinstance(values[0], list) else 0


def _range(values: Values) -> int:
    return max(values[0], 0) if isinstance(values[0], int) else 0


def _matches(values: Values) -> int:
    """A search of the text, and as many matches as there may be, each of which is made into a text."""
    text, pattern, *limit = values
    if not (isinstance(text, str) and isinstance(pattern, str)) or len(text) <= SHORT:
        return 0
    most = len(text) + 1
    if limit and isinstance(limit[0], int) and limit[0] >= 0:
        most = min(most, limit[0])
    return _as_estimated("findAll", values, is_member=True) + most


def _check(values: Values) -> int:
    """A question to the authorizer: what the estimate has for one."""
    return call_cost("check", (), None, ()).cost.most


_OWN: Mapping[str, Callable[[Values], int]] = {
    "_+_": _concatenation,
    "replace": _replacement,
    "format": _formatting,
    "string": _conversion,
    "bytes": _conversion,
    "distinct": _pairs,
    **dict.fromkeys(("sort", "reverse", "slice"), _elements),
    "flatten": _flattening,
    "lists.range": _range,
    "findAll": _matches,
    "check": _check,
}
