"""What calls of functions cost, by the sizes of what they are given.

Facts: k8s.io/apiserver/pkg/cel/library/cost.go (v1.36); github.com/google/cel-go checker/cost.go, ext/lists.go and
ext/sets.go (v0.26).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kubeloop.cel import types
from kubeloop.cel.cost.ranges import MOST, NOTHING, ONE, UNKNOWN, Range
from kubeloop.cel.syntax import Literal, Node
from kubeloop.cel.types import Type

TRAVERSAL, REGEX = 0.1, 0.25  # of a text: for each character, and for each of a pattern's
LIST, MAP, STRUCT = 10, 30, 40  # to make one
_CHECK = 350_000  # two questions to the authorizer are all that one evaluation can pay for
_MAX_FORMAT, _MAX_FORMAT_PATTERN = 64, 128
_ADDRESS = Range(4, 16)  # bytes


@dataclass(frozen=True, slots=True)
class Operand:
    """What a call is given. `size` is None where nothing is known; `elements` is the size of a list's elements."""

    node: Node
    type: Type
    size: Range | None
    elements: Range

    @property
    def extent(self) -> Range:
        return UNKNOWN if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class CallCost:
    """Without the operands' own; the size of the result where it is known."""

    cost: Range
    size: Range | None = None


Estimate = Callable[[Operand | None, Sequence[Operand]], CallCost | None]


def call_cost(name: str, parameters: Sequence[Type], target: Operand | None, arguments: Sequence[Operand]) -> CallCost:
    """The cost of one overload, known by the types of its parameters, the receiver's first."""
    estimate = _ESTIMATES.get(name)
    found = estimate(target, arguments) if estimate is not None else None
    if found is None:
        found = _by_parameters(name, parameters, target, arguments)
    return found or CallCost(ONE)


def _by_parameters(
    name: str, parameters: Sequence[Type], target: Operand | None, arguments: Sequence[Operand]
) -> CallCost | None:
    """Functions that cost otherwise for texts and lists than for the rest."""
    first = parameters[0].name if parameters else ""
    if name == "_+_" and first in ("string", "bytes", "list"):
        size = arguments[0].extent + arguments[1].extent
        return CallCost(ONE if first == "list" else size.scaled(TRAVERSAL), size)
    if name in ("_<_", "_<=_", "_>_", "_>=_") and first in ("string", "bytes"):
        return compared(arguments[0].extent, arguments[1].extent)
    if name == "bytes" and first == "string":
        size = arguments[0].extent
        return CallCost(size.scaled(TRAVERSAL), Range(size.least, min(size.most * 4, MOST)))
    if name == "string" and first == "bytes":
        size = arguments[0].extent
        return CallCost(size.scaled(TRAVERSAL), Range(size.least // 4, size.most))
    if name == "ip" and first == "string":
        return CallCost(arguments[0].extent.scaled(TRAVERSAL))
    if name in ("containsIP", "containsCIDR"):
        return _containment(name, parameters[1], arguments[0])
    if name in ("reverse", "distinct", "sort", "@sortByAssociatedKeys") and target is not None:
        return _whole_list(name, parameters, target, arguments)
    return None


def compared(left: Range, right: Range) -> CallCost:
    """Equality and order look at no more than the shorter of the two."""
    most = min(left.most, right.most)
    return CallCost(Range(1 if most else 0, most).scaled(TRAVERSAL))


def same_cost(left: Operand, right: Operand) -> CallCost:
    """`==`, of which Kubernetes' own types have their own opinion."""
    if left.type == right.type:
        if left.type in _CHEAPLY_COMPARED:
            return CallCost(ONE)
        if left.type == types.NAMED_FORMAT:
            return CallCost(Range(1, _MAX_FORMAT).scaled(TRAVERSAL))
        if left.type == types.URL:
            return CallCost(Range(1, right.size.most if right.size is not None else 1).scaled(TRAVERSAL))
    return compared(left.extent, right.extent)


_CHEAPLY_COMPARED = (
    types.IP,
    types.CIDR,
    types.QUANTITY,
    types.SEMVER,
    types.AUTHORIZER,
    types.PATH_CHECK,
    types.GROUP_CHECK,
    types.RESOURCE_CHECK,
    types.DECISION,
)


def _fixed(cost: int) -> Estimate:
    return lambda target, arguments: CallCost(Range.exactly(cost))


def _read_once(*, of_target: bool, factor: float = 1, keeps_size: bool = False) -> Estimate:
    """A traversal of the receiver, or of the first argument."""

    def estimate(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
        operand = target if of_target else arguments[0] if arguments else None
        if operand is None:
            return None
        return CallCost(operand.extent.scaled(factor * TRAVERSAL), operand.extent if keeps_size else None)

    return estimate


def _over_list(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    """isSorted, sum, min, max, indexOf, lastIndexOf: every element is compared; texts are traversed."""
    if target is None:
        return None
    if not target.type.parameters:
        return CallCost(target.extent.scaled(TRAVERSAL))
    each = ONE
    if target.type.parameters[0].name in ("string", "bytes"):
        each += target.elements.scaled(TRAVERSAL)
    return CallCost(target.extent * each)


def _replace(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None or len(arguments) < 2:
        return None
    size, old, new = target.extent, arguments[0].extent, arguments[1].extent
    most_times, most_kept = _replaced(size.most, old.least, is_kept=new.most <= old.least)
    least_times, least_kept = _replaced(size.least, old.most, is_kept=old.most <= new.least)
    result = Range(least_times, most_times) * new + Range(least_kept, most_kept)
    return CallCost(size.scaled(2 * TRAVERSAL), result)


def _replaced(length: int, old: int, *, is_kept: bool) -> tuple[int, int]:
    """How often a text of some length can be replaced in another, and how much of that stays."""
    if old == 0:
        return min(length + 1, MOST), length
    return (0, length) if is_kept else (min(math.ceil(length / old), MOST), 0)


def _split(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None:
        return None
    most = target.extent.most
    if len(arguments) > 1 and (limit := _whole_number(arguments[1])) is not None:
        most = limit % 2**64
    return CallCost(target.extent.scaled(2 * TRAVERSAL), Range(0, most))


def _join(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None:
        return None
    size = target.extent * target.elements if target.type.parameters else NOTHING
    if arguments:
        size += arguments[0].extent * Range(max(target.extent.least - 1, 0), max(target.extent.most - 1, 0))
    return CallCost(size.scaled(TRAVERSAL), size)


def _matching(*, has_result: bool) -> Estimate:
    """matches, find, findAll: the text times the pattern."""

    def estimate(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
        if target is None or not arguments:
            return None
        cost = (target.extent + ONE).scaled(TRAVERSAL) * arguments[0].extent.scaled(REGEX)
        return CallCost(cost, Range(0, target.extent.most) if has_result else None)

    return estimate


def _contains(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None or len(arguments) != 1:
        return None
    return CallCost(target.extent.scaled(TRAVERSAL) * arguments[0].extent.scaled(TRAVERSAL))


def _quote(target: Operand | None, arguments: Sequence[Operand]) -> CallCost:
    size = arguments[0].extent
    return CallCost(size.scaled(TRAVERSAL), Range(min(size.least + 2, MOST), min(size.most * 2 + 2, MOST)))


def _selector(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    size = arguments[0].extent
    requirements = size.scaled(0.5).scaled(LIST + STRUCT)
    return CallCost(Range.exactly(LIST) + size.scaled(TRAVERSAL) + requirements)


def _validate(target: Operand | None, arguments: Sequence[Operand]) -> CallCost:
    return CallCost(arguments[0].extent.scaled(TRAVERSAL).scaled(_MAX_FORMAT_PATTERN * REGEX))


def _containment(name: str, of: Type, argument: Operand) -> CallCost:
    cost = (_ADDRESS + _ADDRESS).scaled(TRAVERSAL)
    if name == "containsCIDR":
        cost = cost + _ADDRESS.scaled(TRAVERSAL) + ONE
    if of == types.STRING:
        cost += argument.extent.scaled(TRAVERSAL)
    return CallCost(cost)


def _sets(factor: int) -> Estimate:
    return lambda target, arguments: CallCost((arguments[0].extent * arguments[1].extent).scaled(factor) + ONE)


def _made_list(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor) + ONE + Range.exactly(LIST), size)


def _slice(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None:
        return None
    start, end = _whole_number(arguments[0]), _whole_number(arguments[1])
    first, last = max(start or 0, 0), target.extent.most if end is None else max(end, 0)
    return _made_list(1, Range.exactly((last - first) % 2**64))


def _range(target: Operand | None, arguments: Sequence[Operand]) -> CallCost:
    length = _whole_number(arguments[0])
    return _made_list(1, Range.exactly(MOST if length is None else max(length, 0)))


def _flatten(target: Operand | None, arguments: Sequence[Operand]) -> CallCost | None:
    if target is None:
        return None
    depth: int | None = 1
    if arguments:
        depth = _whole_number(arguments[0])
    return _made_list(float(MOST if depth is None else max(depth, 0)), target.extent)


def _whole_list(
    name: str, parameters: Sequence[Type], target: Operand, arguments: Sequence[Operand]
) -> CallCost | None:
    if parameters[0].name != "list":
        return None
    if name == "reverse":
        return _made_list(1, target.extent)
    keys = arguments[0] if name == "@sortByAssociatedKeys" else target
    of_texts = name != "distinct" and parameters[-1].parameters[0].name in ("string", "bytes")
    return _made_list(2 + (TRAVERSAL if of_texts else 0), keys.extent * keys.extent)


def _whole_number(operand: Operand) -> int | None:
    node = operand.node
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


_NOMINAL = (
    *("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason"),
    *("error", "errored", "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast"),
    *("isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger"),
    *("asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch"),
    *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
)
_ESTIMATES: Mapping[str, Estimate] = {
    "check": _fixed(_CHECK),
    **{name: _fixed(1) for name in _NOMINAL},
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_list),
    "url": _read_once(of_target=False, keeps_size=True),
    "jsonpatch.escapeKey": _read_once(of_target=False, keeps_size=True),
    **{name: _read_once(of_target=True, keeps_size=True) for name in ("lowerAscii", "upperAscii", "substring", "trim")},
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _matching(has_result=True),
    "findAll": _matching(has_result=True),
    "matches": _matching(has_result=False),
    "contains": _contains,
    **{name: _read_once(of_target=False) for name in ("cidr", "isIP", "isCIDR")},
    **{name: _read_once(of_target=False) for name in ("quantity", "isQuantity", "semver", "isSemver")},
    **{name: _read_once(of_target=False) for name in ("startsWith", "endsWith")},
    "ip.isCanonical": _read_once(of_target=False, factor=2),
    "validate": _validate,
    "format": _read_once(of_target=True),
    "strings.quote": _quote,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
}
# Those whose cost depends on the sizes of what they are given.
REGULAR = _ESTIMATES.keys() - {*_NOMINAL, "check"} | {"_<_", "_<=_", "_>_", "_>=_", "ip", "containsIP", "containsCIDR"}
