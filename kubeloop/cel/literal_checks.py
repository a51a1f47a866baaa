"""What is wrong with literals though their types are right: durations, times, patterns, format strings, mixed lists.

Facts: github.com/google/cel-go cel/validator.go, ext/formatting.go (v0.26). Run on expressions that the checker passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery import go_regexp
from kubeloop.cel import formatting
from kubeloop.cel.functions import Library
from kubeloop.cel.syntax import Call, ListNode, Literal, Macro, MapNode, Node, Problem, Select, Struct
from kubeloop.cel.types import Type
from kubeloop.cel.values import EvaluationError


def literal_problems(node: Node, functions: Library) -> list[Problem]:
    """All of them."""
    return list(_problems(node, functions, may_mix=False))


def pattern_problem(node: Node) -> str:
    """Why a constant pattern of find() or findAll() is none, "" where all are fine."""
    for call in _calls(node):
        if call.function in ("find", "findAll") and call.arguments and isinstance(call.arguments[0], Literal):
            try:
                go_regexp.compile_pattern(call.arguments[0].value)
            except go_regexp.PatternError as error:
                return str(error)
    return ""


def _calls(node: Node) -> Iterator[Call]:
    if isinstance(node, Call):
        yield node
    for child in children(node):
        yield from _calls(child)


def children(node: Node) -> Sequence[Node]:
    """The nodes right below one."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*node.arguments, *([node.target] if node.target is not None else [])]
        case ListNode():
            return node.elements
        case MapNode():
            return [part for entry in node.entries for part in entry]
        case Struct():
            return [value for _, value in node.entries]
        case Macro():
            return [node.range, *node.arguments]
    return ()


def _problems(node: Node, functions: Library, *, may_mix: bool) -> Iterator[Problem]:
    if isinstance(node, Call):
        yield from _call_problems(node, functions)
        may_mix = may_mix or node.function == "format"
    elif isinstance(node, ListNode) and not may_mix:
        elements = [(element, i in node.optional) for i, element in enumerate(node.elements)]
        yield from _first_other(elements)
    elif isinstance(node, MapNode) and not may_mix:
        for i, entry in enumerate(node.entries):
            for place, part in enumerate(entry):
                first = node.entries[0][place]
                is_value = place == 1
                yield from _other(_type(first, is_value and 0 in node.optional), part, is_value and i in node.optional)
    for child in children(node):
        yield from _problems(child, functions, may_mix=may_mix)


def _first_other(elements: Sequence[tuple[Node, bool]]) -> Iterator[Problem]:
    """Of a list only the first element that is of another type than the others."""
    for element, is_optional in elements[1:]:
        found = list(_other(_type(*elements[0]), element, is_optional))
        if found:
            yield from found
            return


def _other(wanted: Type, node: Node, is_optional: bool) -> Iterator[Problem]:
    found = _type(node, is_optional)
    if found != wanted:
        yield Problem(node.position, f"expected type '{wanted.shown}' but found '{found.shown}'")


def _type(node: Node, is_optional: bool) -> Type:
    return node.type.parameters[0] if is_optional and node.type.parameters else node.type


def _call_problems(node: Call, functions: Library) -> Iterator[Problem]:
    check = _CHECKS.get(node.function)
    if check is not None and node.arguments and isinstance(argument := node.arguments[0], Literal):
        try:
            check(functions, argument.value)
        except ValueError:
            yield Problem(argument.position, f"invalid {node.function} argument")
    if node.function == "format" and node.target is not None:
        yield from _format_problems(node, node.target)


def _evaluated(name: str) -> Callable[[Library, Any], Any]:
    return lambda functions, value: functions[name].implementation(value)


_CHECKS: Mapping[str, Callable[[Library, Any], Any]] = {
    "duration": _evaluated("duration"),
    "timestamp": _evaluated("timestamp"),
    "matches": lambda functions, pattern: go_regexp.compile_pattern(pattern),
}


def _format_problems(node: Call, target: Node) -> Iterator[Problem]:
    arguments = node.arguments[0] if len(node.arguments) == 1 else None
    if not (isinstance(target, Literal) and isinstance(target.value, str) and isinstance(arguments, ListNode)):
        return
    used = 0
    try:
        for part in formatting.parts(target.value, len(arguments.elements)):
            if isinstance(part, str):
                continue
            if (bad := _unfit(part, arguments.elements[used])) is not None:
                yield Problem(bad.position, formatting.unfit(part, bad.type.name))
                return
            used += 1
    except EvaluationError as error:
        yield Problem(node.position, str(error))
        return
    if len(arguments.elements) > used:
        counts = f"(expected {used}, got {len(arguments.elements)})"
        yield Problem(node.position, f"too many arguments supplied to string.format {counts}")


def _unfit(clause: formatting.Clause, argument: Node) -> Node | None:
    """The argument, or what in it, cannot be formatted so."""
    if not formatting.takes(clause, argument.type):
        return argument
    if clause.verb == "s" and isinstance(argument, ListNode | MapNode):
        return next((bad for part in children(argument) if (bad := _unfit(clause, part)) is not None), None)
    return None
