"""Types of expressions: every name is declared, every call has an overload, every field exists.

The checker also settles what the parser could not know: that `optional.of(x)` is a function with a dot in its name, and
which key of a value an escaped field name means. Facts: github.com/google/cel-go checker/checker.go (v0.26).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeloop.cel.functions import Library, Overload
from kubeloop.cel.literal_checks import literal_problems, pattern_problem
from kubeloop.cel.macro_types import macro_type
from kubeloop.cel.operators import OPERATORS
from kubeloop.cel.patches import is_patch_struct, patch_field
from kubeloop.cel.syntax import (
    Call,
    Ident,
    InstantiationError,
    ListNode,
    Literal,
    Macro,
    MapNode,
    Node,
    Problem,
    Problems,
    Select,
    Struct,
)
from kubeloop.cel.types import (
    AUTHORIZER,
    BOOL,
    BYTES,
    CIDR,
    DECISION,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    GROUP_CHECK,
    INT,
    IP,
    NAMED_FORMAT,
    NULL,
    PATH_CHECK,
    QUANTITY,
    RESOURCE_CHECK,
    SEMVER,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    URL,
    Type,
    list_of,
    map_of,
    optional_of,
    type_type,
)
from kubeloop.cel.unification import Bindings, more_general
from kubeloop.cel.values import UInt

TYPE_NAMES = {
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": TYPE,
    "optional_type": optional_of(DYN),
    **{
        type_.name: type_
        for type_ in (
            *(BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DURATION, TIMESTAMP),
            *(QUANTITY, URL, SEMVER, IP, CIDR, NAMED_FORMAT),
        )
    },
}
# Types that cel-go takes for objects, and of which it then finds no declaration.
UNRESOLVED = frozenset(
    (QUANTITY, URL, SEMVER, NAMED_FORMAT, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION)
)
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
    checker = Checker(variables, functions, has_patches)
    checker.type_of(node)
    checker.settle()
    if problems := checker.problems or literal_problems(node, functions):
        raise Problems(source, problems)
    if why := pattern_problem(node):
        raise InstantiationError(why)
    return node.type, frozenset(checker.names)


class Checker:
    """Finds the types of nodes. What macros mean stands in `macro_types`."""

    def __init__(self, variables: Mapping[str, Type], functions: Library, has_patches: bool) -> None:
        self._scopes: list[Mapping[str, Type]] = [variables]
        self._functions, self._has_patches = functions, has_patches
        self._nodes: list[Node] = []
        self.bindings = Bindings()
        self.problems: list[Problem] = []
        self.names: set[str] = set()

    def type_of(self, node: Node) -> Type:
        node.type = self._find(node)
        self._nodes.append(node)
        return node.type

    def settle(self) -> None:
        """Give every node the type that is known in the end."""
        for node in self._nodes:
            node.type = self.bindings.filled(node.type, unbound=DYN)

    def problem(self, position: int, message: str) -> Type:
        self.problems.append(Problem(position, message))
        return ERROR

    def known(self, type_: Type) -> Type:
        return self.bindings.filled(type_)

    def expect(self, wanted: Type, found: Type, node: Node) -> bool:
        if self.bindings.assign([wanted], [found]):
            return True
        shown = self.known(wanted).shown, self.known(found).shown
        self.problem(node.position, f"expected type '{shown[0]}' but found '{shown[1]}'")
        return False

    def within(self, variables: Mapping[str, Type], nodes: Iterable[Node]) -> list[Type]:
        """The types of nodes in which variables are declared."""
        self._scopes.append(variables)
        found = [self.type_of(node) for node in nodes]
        self._scopes.pop()
        return found

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
                elements = self._elements([(i in node.optional, e) for i, e in enumerate(node.elements)])
                return list_of(elements or self.bindings.fresh())
            case MapNode():
                return self._map(node)
            case Struct():
                return self._struct(node)
            case Macro():
                return macro_type(self, node)
        raise AssertionError("every node is one of these")

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
            return type_type(TYPE_NAMES[node.name])
        return self.problem(node.position, _undeclared(node.written or node.name))

    def _select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name and (declared := self._declared(name)) is not None:
            node.variable = name
            return declared
        if name in TYPE_NAMES:
            return type_type(TYPE_NAMES[name])
        operand = self.known(self.type_of(node.operand))
        is_optional = operand.name == "optional_type"
        found = self._field(node, operand.parameters[0] if is_optional else operand)
        if node.is_test:
            return BOOL
        return self.known(optional_of(found) if is_optional or node.is_optional else found)

    def _field(self, node: Select, operand: Type) -> Type:
        if operand.fields is not None:
            field = operand.fields.get(node.name) or operand.fields.get(f"__{node.name}__")  # a word of CEL
            if field is None:
                return self.problem(node.position, f"undefined field '{node.name}'")
            node.key = field.key
            return field.type
        if operand.name == "map":
            return operand.parameters[1]
        if operand.is_parameter:
            self.bindings.assign([DYN], [operand])
            return DYN
        if is_patch_struct(operand.name) and (found := patch_field(operand.name, node.name)) is not None:
            return found
        if operand in UNRESOLVED:
            return self.problem(node.position, f"unexpected failed resolution of '{operand.name}'")
        if operand not in (DYN, ERROR):
            self.problem(node.position, f"type '{operand.shown}' does not support field selection")
        return DYN

    # -- literals -------------------------------------------------------------------------------------------------

    def _elements(self, elements: Sequence[tuple[bool, Node]]) -> Type | None:
        """The type elements of a literal have in common; None where there are none."""
        common: Type | None = None
        for is_optional, element in elements:
            found = self.type_of(element)
            if is_optional:
                found = self._unwrapped(found, element)
            if common is None:
                common = found
            elif self.bindings.assign([common], [found]):
                common = more_general(common, found)
            else:
                common = DYN  # which the check of literals refuses where it matters
        return common

    def _unwrapped(self, found: Type, element: Node) -> Type:
        known = self.known(found)
        if known.name == "optional_type":
            return known.parameters[0]
        if known not in (DYN, ERROR):
            self.expect(optional_of(known), known, element)
        return known

    def _map(self, node: MapNode) -> Type:
        keys = self._elements([(False, key) for key, _ in node.entries])
        values = self._elements([(i in node.optional, value) for i, (_, value) in enumerate(node.entries)])
        return map_of(keys or self.bindings.fresh(), values or self.bindings.fresh())

    def _struct(self, node: Struct) -> Type:
        is_known = self._has_patches and is_patch_struct(node.name)
        if not is_known:
            self.problem(node.position, _undeclared(node.name))
            return ERROR
        for i, (name, value) in enumerate(node.entries):
            found = self.type_of(value)
            if i in node.optional:
                found = self._unwrapped(found, value)
            wanted = patch_field(node.name, name)
            if wanted is None:
                self.problem(node.position, f"undefined field '{name}'")
            elif not self.bindings.assign([wanted], [found]):
                provided = self.known(found).shown
                reason = f"expected type of field '{name}' is '{wanted.shown}' but provided type is '{provided}'"
                self.problem(value.position, reason)
        return Type(node.name)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Type:
        arguments = [self.type_of(argument) for argument in node.arguments]
        self._settle_name(node)
        target = self.type_of(node.target) if node.target is not None else None
        if node.function in ("_&&_", "_||_"):
            return self.logic(node.arguments, arguments)
        overloads = self._overloads(node.function)
        if overloads is None:
            return self.problem(node.position, _undeclared(node.function))
        result, node.overloads = self.resolve(node.position, node.function, target, arguments, overloads)
        return result

    def _settle_name(self, node: Call) -> None:
        if node.target is None:
            return
        name = qualified_name(node.target)
        if name and f"{name}.{node.function}" in self._functions:
            node.function, node.target = f"{name}.{node.function}", None

    def _overloads(self, name: str) -> Sequence[Overload] | None:
        if name in OPERATORS:
            return OPERATORS[name]
        function = self._functions.get(name)
        return None if function is None else function.overloads

    def logic(self, nodes: Sequence[Node], found: Sequence[Type]) -> Type:
        """`&&` and `||`, which say of every operand what is wrong with it."""
        fits = [self.expect(BOOL, type_, node) for node, type_ in zip(nodes, found, strict=True)]
        return BOOL if all(fits) else ERROR

    def resolve(
        self,
        position: int,
        name: str,
        target: Type | None,
        arguments: Sequence[Type],
        overloads: Sequence[Overload] | None = None,
    ) -> tuple[Type, Sequence[tuple[Type, ...]]]:
        """What a call gives, and the parameters of the overloads that may be meant: several where a type is dyn."""
        given = [*([target] if target is not None else []), *arguments]
        result: Type | None = None
        chosen: list[tuple[Type, ...]] = []
        for overload in self._overloads(name) or () if overloads is None else overloads:
            if overload.is_member != (target is not None):
                continue
            parameters, gives = self._instance(overload)
            if not self.bindings.assign(given, parameters):
                continue
            chosen.append(overload.parameters)
            found = self.known(gives)
            if result is None:
                result = found
            elif result != DYN and found != result:
                result = DYN
        if result is None:
            return self.problem(position, self._no_overload(name, target, arguments)), ()
        return result, chosen

    def _instance(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """The overload with type parameters of its own."""
        fresh: dict[str, Type] = {}

        def renamed(type_: Type) -> Type:
            if len(type_.name) == 1:
                return fresh.setdefault(type_.name, self.bindings.fresh())
            if not type_.parameters:
                return type_
            return type_.with_parameters(tuple(map(renamed, type_.parameters)))

        return [renamed(parameter) for parameter in overload.parameters], renamed(overload.result)

    def _no_overload(self, name: str, target: Type | None, arguments: Sequence[Type]) -> str:
        shown = [self.bindings.filled(type_, unbound=DYN).shown for type_ in arguments]
        applied = f"({', '.join(shown)})"
        if target is not None:
            applied = f"{self.bindings.filled(target, unbound=DYN).shown}.{applied}"
        return f"found no matching overload for '{name}' applied to '{applied}'"


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


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
