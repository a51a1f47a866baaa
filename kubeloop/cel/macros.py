"""CEL's macros: calls that name variables, or look at a field instead of its value."""

from __future__ import annotations

from collections.abc import Sequence

from kubeloop.cel.syntax import Call, Ident, ListNode, Macro, Node, Select

# Name -> how many arguments follow the variables, for one variable and for two.
_OF_ONE = {
    **dict.fromkeys(("all", "exists", "exists_one", "existsOne", "filter", "sortBy", "optMap", "optFlatMap"), (1,)),
    "map": (1, 2),
}
_OF_TWO = {
    **dict.fromkeys(("all", "exists", "exists_one", "existsOne"), (1,)),
    **dict.fromkeys(("transformList", "transformMap", "transformMapEntry"), (1, 2)),
}
_QUANTIFIERS = ("all", "exists", "exists_one", "existsOne")
_ACCUMULATORS = ("__result__", "@result")
_SORTABLE = (Select, Ident, Macro, Call, ListNode)


class MacroError(ValueError):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def expanded(position: int, name: str, target: Node | None, arguments: Sequence[Node]) -> Node | None:
    """The node a macro stands for; None where the call is none."""
    if name == "has" and target is None and len(arguments) == 1:
        return _has(position, arguments[0])
    if target is None:
        return None
    if len(arguments) - 2 in _OF_TWO.get(name, ()):
        variables = [_variable(name, argument, count=2) for argument in arguments[:2]]
        if variables[0] == variables[1]:
            raise MacroError(arguments[1].position, f"duplicate variable name: {variables[0]}")
        return Macro(position, name, target, variables, arguments[2:])
    if len(arguments) - 1 in _OF_ONE.get(name, ()):
        if name == "sortBy" and not isinstance(target, _SORTABLE):
            why = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
            raise MacroError(target.position, why)
        return Macro(position, name, target, [_variable(name, arguments[0], count=1)], arguments[1:])
    return None


def binding(position: int, name: str, target: Node | None, arguments: Sequence[Node]) -> Node | None:
    """cel.bind(variable, value, expression), where it is known; None where the call is none."""
    if name != "bind" or not isinstance(target, Ident) or target.name != "cel" or len(arguments) != 3:
        return None
    variable, value, body = arguments
    if not isinstance(variable, Ident):
        raise MacroError(variable.position, "cel.bind() variable names must be simple identifiers")
    return Macro(position, "bind", value, [variable.name], [body])


def _has(position: int, argument: Node) -> Node:
    if not isinstance(argument, Select) or argument.is_optional or argument.is_test:
        raise MacroError(argument.position, "invalid argument to has() macro")
    return Select(position, argument.operand, argument.name, is_test=True)


def _variable(name: str, node: Node, *, count: int) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.position, _no_name(name, count))
    if node.name in _ACCUMULATORS:
        raise MacroError(node.position, "iteration variable overwrites accumulator variable")
    return node.name


def _no_name(name: str, count: int) -> str:
    if name in ("optMap", "optFlatMap"):
        return f"{name}() variable name must be a simple identifier"
    return "argument must be a simple name" if count == 2 or name in _QUANTIFIERS else "argument is not an identifier"
