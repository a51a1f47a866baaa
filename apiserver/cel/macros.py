"""CEL's macros: calls that name variables, or look at a field instead of its value."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.cel.syntax import Ident, Macro, Node, Select

# name -> how many arguments follow the variables, for one and for two variables.
_COMPREHENSIONS = {
    "all": (1,),
    "exists": (1,),
    "exists_one": (1,),
    "existsOne": (1,),
    "filter": (1,),
    "map": (1, 2),
}
_OF_TWO = {
    "all": (1,),
    "exists": (1,),
    "existsOne": (1,),
    "exists_one": (1,),
    "transformList": (1, 2),
    "transformMap": (1, 2),
    "transformMapEntry": (1, 2),
}
_ON_OPTIONALS = ("optMap", "optFlatMap")


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
    if name == "bind" and isinstance(target, Ident) and target.name == "cel" and len(arguments) == 3:
        return Macro(position, "bind", arguments[1], [_variable(arguments[0])], [arguments[2]])
    if name in _ON_OPTIONALS and len(arguments) == 2:
        return Macro(position, name, target, [_variable(arguments[0])], [arguments[1]])
    if len(arguments) - 2 in _OF_TWO.get(name, ()) and (name not in _COMPREHENSIONS or isinstance(arguments[1], Ident)):
        variables = [_variable(arguments[0]), _variable(arguments[1])]
        return Macro(position, name, target, variables, arguments[2:])
    if len(arguments) - 1 in _COMPREHENSIONS.get(name, ()):
        return Macro(position, name, target, [_variable(arguments[0])], arguments[1:])
    return None


def _has(position: int, argument: Node) -> Node:
    if not isinstance(argument, Select) or argument.is_optional:
        raise MacroError(argument.position, "invalid argument to has() macro")
    return Select(position, argument.operand, argument.name, is_test=True)


def _variable(node: Node) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.position, "argument is not an identifier")
    return node.name
