"""Types of expressions: every name is declared, every call has an overload, every field exists.

The checker also settles what the parser could not know: that `optional.of(x)` is a function with a dot in its name, and
which key of a value an escaped field name means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.cel.functions import Library, Overload
from apiserver.cel.patches import is_patch_struct, patch_field
from apiserver.cel.syntax import (
    Call,
    CompileError,
    Ident,
    ListNode,
    Literal,
    Macro,
    MapNode,
    Node,
    Problem,
    Select,
    Struct,
)
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    filled,
    joined,
    list_of,
    map_of,
    matches,
    optional_of,
)
from apiserver.cel.values import UInt

TYPE_NAMES = {
    name: type_
    for type_, names in (
        (BOOL, ("bool",)),
        (INT, ("int",)),
        (UINT, ("uint",)),
        (DOUBLE, ("double",)),
        (STRING, ("string",)),
        (BYTES, ("bytes",)),
        (list_of(DYN), ("list",)),
        (map_of(DYN, DYN), ("map",)),
        (NULL, ("null_type",)),
        (TYPE, ("type",)),
        (DURATION, ("google.protobuf.Duration",)),
        (TIMESTAMP, ("google.protobuf.Timestamp",)),
    )
    for name in names
}
_LITERALS: tuple[tuple[type, Type], ...] = (
    (bool, BOOL),
    (UInt, UINT),
    (int, INT),
    (float, DOUBLE),
    (str, STRING),
    (bytes, BYTES),
)


def check(
    source: str, node: Node, variables: Mapping[str, Type], functions: Library, has_patches: bool
) -> tuple[Type, frozenset[str]]:
    """The type of the whole and the variables it names. Raises CompileError with all problems."""
    checker = _Checker(variables, functions, has_patches)
    type_ = checker.type_of(node)
    if checker.problems:
        raise CompileError(source, sorted(checker.problems, key=lambda problem: problem.position))
    return type_, frozenset(checker.names)


class _Checker:
    def __init__(self, variables: Mapping[str, Type], functions: Library, has_patches: bool) -> None:
        self._scopes: list[Mapping[str, Type]] = [variables]
        self._functions, self._has_patches = functions, has_patches
        self.problems: list[Problem] = []
        self.names: set[str] = set()
        self._may_mix = False  # within the arguments of format(), lists may hold anything

    def type_of(self, node: Node) -> Type:
        node.type = self._find(node)
        return node.type

    def _find(self, node: Node) -> Type:
        match node:
            case Literal():
                return _literal(node.value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return list_of(self._elements([(i in node.optional, e) for i, e in enumerate(node.elements)]))
            case MapNode():
                keys = self._elements([(False, key) for key, _ in node.entries])
                return map_of(keys, self._elements([(i in node.optional, v) for i, (_, v) in enumerate(node.entries)]))
            case Struct():
                return self._struct(node)
            case Macro():
                return self._macro(node)
        raise AssertionError("every node is one of these")

    def _problem(self, node: Node, message: str) -> Type:
        self.problems.append(Problem(node.position, message))
        return DYN

    # -- names ----------------------------------------------------------------------------------------------------

    def _declared(self, name: str) -> Type | None:
        for depth in range(len(self._scopes) - 1, -1, -1):
            if name in self._scopes[depth]:
                if not depth:
                    self.names.add(name)
                return self._scopes[depth][name]
        return None

    def _ident(self, node: Ident) -> Type:
        found = self._declared(node.name)
        if found is not None:
            return found
        if node.name in TYPE_NAMES:
            return TYPE
        return self._problem(node, f"undeclared reference to '{node.name}' (in container '')")

    def _select(self, node: Select) -> Type:
        if (name := qualified_name(node)) in TYPE_NAMES:
            return TYPE
        if name and not node.is_test and (declared := self._declared(name)) is not None:
            node.variable = name
            return declared
        operand = self.type_of(node.operand)
        is_optional = operand.name == "optional_type"
        found = self._field(node, operand.parameters[0] if is_optional else operand)
        if node.is_test:
            return BOOL
        return optional_of(found) if is_optional or node.is_optional else found

    def _field(self, node: Select, operand: Type) -> Type:
        if operand.fields is not None:
            field = operand.fields.get(node.name)
            if field is None:
                return self._problem(node, f"undefined field '{node.name}'")
            node.key = field.key
            return field.type
        if operand.name == "map":
            return operand.parameters[1]
        if operand in (DYN, NULL):
            return DYN
        if is_patch_struct(operand.name) and (found := patch_field(operand.name, node.name)) is not None:
            return found
        return self._problem(node, f"type '{operand}' does not support field selection")

    def _struct(self, node: Struct) -> Type:
        if not (self._has_patches and is_patch_struct(node.name)):
            for _, value in node.entries:
                self.type_of(value)
            return self._problem(node, f"undeclared reference to '{node.name}' (in container '')")
        for i, (name, value) in enumerate(node.entries):
            found, wanted = self.type_of(value), patch_field(node.name, name)
            if i in node.optional and found.name == "optional_type":
                found = found.parameters[0]
            if wanted is None:
                self._problem(value, f"undefined field '{name}'")
            elif not matches(wanted, found, {}):
                reason = f"expected type of field '{name}' is '{wanted}' but provided type is '{found}'"
                self._problem(value, reason)
        return Type(node.name)

    def _elements(self, elements: Sequence[tuple[bool, Node]]) -> Type:
        """The type elements of a literal have in common."""
        found: list[Type] = []
        for is_optional, element in elements:
            type_ = self.type_of(element)
            if is_optional and type_.name == "optional_type":
                type_ = type_.parameters[0]
            first = next((other for other in found if other != DYN), DYN)
            if type_ != DYN and not self._may_mix and not matches(first, type_, {}):
                self._problem(element, f"expected type '{first}' but found '{type_}'")
            found.append(type_)
        return joined(found)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Type:
        self._settle_name(node)
        may_mix, self._may_mix = self._may_mix, self._may_mix or node.function == "format"
        arguments = [self.type_of(argument) for argument in node.arguments]
        self._may_mix = may_mix
        target = self.type_of(node.target) if node.target is not None else None
        special = _SPECIAL.get(node.function)
        if special is not None and target is None:
            return special(self, node, arguments)
        function = self._functions.get(node.function)
        if function is None:
            return self._problem(node, f"undeclared reference to '{node.function}' (in container '')")
        matching = _results(function.overloads, target, arguments)
        if not matching:
            return self._problem(node, _no_overload(node.function, target, arguments))
        node.overloads = [overload.parameters for overload, _ in matching]
        found = [result for _, result in matching]
        return found[0] if all(result == found[0] for result in found) else DYN

    def _settle_name(self, node: Call) -> None:
        if node.target is None:
            return
        name = qualified_name(node.target)
        if name and f"{name}.{node.function}" in self._functions and self._declared(name.partition(".")[0]) is None:
            node.function, node.target = f"{name}.{node.function}", None

    def logic(self, node: Call, arguments: Sequence[Type]) -> Type:
        if any(type_ not in (BOOL, DYN) for type_ in arguments):
            for argument, type_ in zip(node.arguments, arguments, strict=True):
                if type_ not in (BOOL, DYN):
                    self._problem(argument, f"expected type 'bool' but found '{type_}'")
        return BOOL

    def same(self, node: Call, arguments: Sequence[Type]) -> Type:
        left, right = arguments
        if not matches(left, right, {}):
            self._problem(node, _no_overload(node.function, None, arguments))
        return BOOL

    def choice(self, node: Call, arguments: Sequence[Type]) -> Type:
        condition, yes, no = arguments
        if condition not in (BOOL, DYN) or not matches(yes, no, {}):
            return self._problem(node, _no_overload(node.function, None, arguments))
        return yes if yes not in (DYN, NULL) else no

    def membership(self, node: Call, arguments: Sequence[Type]) -> Type:
        element, holder = arguments
        wanted = holder.parameters[0] if holder.name in ("list", "map") else DYN
        if (holder.name not in ("list", "map") and holder != DYN) or not matches(wanted, element, {}):
            self._problem(node, _no_overload("@in", None, arguments))
        return BOOL

    def index(self, node: Call, arguments: Sequence[Type]) -> Type:
        holder, at = arguments
        is_optional = holder.name == "optional_type"
        inner = holder.parameters[0] if is_optional else holder
        if inner.name == "list" and matches(INT, at, {}):
            found = inner.parameters[0]
        elif inner.name == "map" and matches(inner.parameters[0], at, {}):
            found = inner.parameters[1]
        elif inner in (DYN, NULL):
            found = DYN
        else:
            return self._problem(node, _no_overload(node.function, None, arguments))
        return optional_of(found) if is_optional or node.function == "_[?_]" else found

    # -- macros ---------------------------------------------------------------------------------------------------

    def _macro(self, node: Macro) -> Type:
        ranged = self.type_of(node.range)
        if node.name == "bind":
            return self._within(node, (ranged,))[0]
        if node.name in ("optMap", "optFlatMap"):
            inner = ranged.parameters[0] if ranged.name == "optional_type" else DYN
            result = self._within(node, (inner,))[0]
            return optional_of(result) if node.name == "optMap" else result
        return self._comprehension(node, ranged)

    def _comprehension(self, node: Macro, ranged: Type) -> Type:
        if ranged.name not in ("list", "map") and ranged not in (DYN, NULL):
            message = (
                f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
            self._problem(node.range, message)
            ranged = DYN
        first, second = (ranged.parameters[0], ranged.parameters[-1]) if ranged.parameters else (DYN, DYN)
        variables = (first,) if len(node.variables) == 1 else (INT if ranged.name == "list" else first, second)
        results = self._within(node, variables)
        if node.name in ("all", "exists", "exists_one", "existsOne", "filter"):
            self._want_bool(node.arguments[0], results[0])
            return BOOL if node.name != "filter" else list_of(first)
        if len(results) == 2:
            self._want_bool(node.arguments[0], results[0])
        match node.name:
            case "transformMap":
                return map_of(variables[0], results[-1])
            case "transformMapEntry":
                return results[-1] if results[-1].name == "map" else map_of(DYN, DYN)
            case _:
                return list_of(results[-1])

    def _within(self, node: Macro, types: Sequence[Type]) -> list[Type]:
        self._scopes.append(dict(zip(node.variables, types, strict=True)))
        results = [self.type_of(argument) for argument in node.arguments]
        self._scopes.pop()
        return results

    def _want_bool(self, node: Node, found: Type) -> None:
        if found not in (BOOL, DYN):
            self._problem(node, _no_overload("_&&_", None, [BOOL, found]))


_SPECIAL: Mapping[str, Any] = {
    "_&&_": _Checker.logic,
    "_||_": _Checker.logic,
    "_==_": _Checker.same,
    "_!=_": _Checker.same,
    "_?_:_": _Checker.choice,
    "@in": _Checker.membership,
    "_[_]": _Checker.index,
    "_[?_]": _Checker.index,
}


def _literal(value: Any) -> Type:
    return next((type_ for python, type_ in _LITERALS if isinstance(value, python)), NULL)


def qualified_name(node: Node) -> str:
    """`a.b.c` of a chain of names, "" of anything else."""
    if isinstance(node, Ident):
        return node.name
    if (
        isinstance(node, Select)
        and not node.is_test
        and not node.is_optional
        and (front := qualified_name(node.operand))
    ):
        return f"{front}.{node.name}"
    return ""


def _results(
    overloads: Sequence[Overload], target: Type | None, arguments: Sequence[Type]
) -> list[tuple[Overload, Type]]:
    """The overloads that fit, and what they give; several where types are known only at run time."""
    given = [*([target] if target is not None else []), *arguments]
    found = []
    for overload in overloads:
        if overload.is_member != (target is not None) or len(overload.parameters) != len(given):
            continue
        bound: dict[str, Type] = {}
        if all(matches(wanted, type_, bound) for wanted, type_ in zip(overload.parameters, given, strict=True)):
            found.append((overload, filled(overload.result, bound)))
    return found


def _no_overload(name: str, target: Type | None, arguments: Sequence[Type]) -> str:
    listed = f"({', '.join(map(str, arguments))})"
    applied = f"{target}.{listed}" if target is not None else listed
    return f"found no matching overload for '{name}' applied to '{applied}'"
