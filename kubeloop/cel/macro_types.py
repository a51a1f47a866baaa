"""Types of macros: what the loops and conditions they stand for would be found to be.

Facts: github.com/google/cel-go parser/macro.go, cel/library.go, ext/comprehensions.go, ext/lists.go (v0.26).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubeloop.cel.syntax import Macro
from kubeloop.cel.types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of

if TYPE_CHECKING:
    from kubeloop.cel.checker import Checker


def macro_type(checker: Checker, node: Macro) -> Type:
    """The type of a macro's value."""
    ranged = checker.type_of(node.range)
    if node.name == "bind":
        (body,) = checker.within({node.variables[0]: ranged}, node.arguments)
        return body
    if node.name in ("optMap", "optFlatMap"):
        return _on_optional(checker, node, ranged)
    if node.name == "sortBy":
        return _sorted(checker, node, ranged)
    variables = _variables(checker, node, checker.known(ranged))
    found = checker.within(dict(zip(node.variables, variables, strict=True)), node.arguments)
    match node.name:
        case "all" | "exists":
            checker.logic(node.arguments, found)
            return BOOL
        case "exists_one" | "existsOne":
            checker.resolve(node.position, "_?_:_", None, (found[0], INT, INT))
            return BOOL
        case "filter":
            return _filtered(checker, node, found, list_of(variables[0]))
        case "transformMap":
            return _filtered(checker, node, found[:-1], map_of(variables[0], found[-1]))
        case "transformMapEntry":
            entries = map_of(checker.bindings.fresh(), checker.bindings.fresh())
            inserted, _ = checker.resolve(node.position, "cel.@mapInsert", None, (entries, found[-1]))
            return _filtered(checker, node, found[:-1], inserted)
        case _:
            return _filtered(checker, node, found[:-1], list_of(found[-1]))


def _variables(checker: Checker, node: Macro, ranged: Type) -> Sequence[Type]:
    """The types of a loop's variables."""
    if ranged.name in ("list", "map"):
        first, second = ranged.parameters[0], ranged.parameters[-1]
    else:
        first = second = DYN
        if ranged.is_parameter:
            checker.bindings.assign([DYN], [ranged])
        elif ranged not in (DYN, ERROR):
            why = "cannot be range of a comprehension (must be list, map, or dynamic)"
            checker.problem(node.range.position, f"expression of type '{ranged.shown}' {why}")
            first = second = ERROR
    if len(node.variables) == 1:
        return (first,)
    return (INT, second) if ranged.name == "list" else (first, second)


def _filtered(checker: Checker, node: Macro, conditions: Sequence[Type], result: Type) -> Type:
    """`condition ? found + [element] : found`, where there is a condition."""
    for condition in conditions:
        result, _ = checker.resolve(node.position, "_?_:_", None, (condition, result, result))
    return checker.known(result)


def _on_optional(checker: Checker, node: Macro, target: Type) -> Type:
    """`target.hasValue() ? … : optional.none()`, in which the variable is `target.value()`."""
    condition, _ = checker.resolve(node.position, "hasValue", target, ())
    value, _ = checker.resolve(node.position, "value", target, ())
    (body,) = checker.within({node.variables[0]: value}, node.arguments)
    if node.name == "optMap":
        body = optional_of(body)
    none = optional_of(checker.bindings.fresh())
    result, _ = checker.resolve(node.position, "_?_:_", None, (condition, body, none))
    return checker.known(result)


def _sorted(checker: Checker, node: Macro, ranged: Type) -> Type:
    """`range.@sortByAssociatedKeys(range.map(variable, key))`."""
    variables = _variables(checker, node, checker.known(ranged))
    (key,) = checker.within({node.variables[0]: variables[0]}, node.arguments)
    result, _ = checker.resolve(node.position, "@sortByAssociatedKeys", ranged, (list_of(key),))
    return result
