"""What one turn of a loop costs, charged while expressions run.

Counting every operation would double the time of an evaluation, so a turn is charged what its body costs whatever
the values are: all of it is taken to be evaluated, and texts and lists in it to be short.
"""

from __future__ import annotations

from kubeloop.cel.cost.calls import LIST, MAP, STRUCT
from kubeloop.cel.syntax import Call, ListNode, Literal, Macro, MapNode, Node, Select, Struct

# Of the loop itself: whether to go on, and what is done with the body's value.
_AROUND = {"all": 3, "exists": 4, "exists_one": 2, "existsOne": 2, "transformMap": 3, "transformMapEntry": 2}


def turn_cost(macro: Macro) -> int:
    """What each turn of a loop costs; loops within it charge their own."""
    return _AROUND.get(macro.name, LIST + 2) + sum(map(_cost, macro.arguments))


def _cost(node: Node) -> int:
    match node:
        case Literal():
            return 0
        case Select():
            return _cost(node.operand) + (0 if node.is_test else 1)
        case Call():
            of_operands = [_cost(operand) for operand in (*node.arguments, *filter(None, [node.target]))]
            if node.function == "_?_:_":
                return of_operands[0] + max(of_operands[1:])
            return sum(of_operands) + (0 if node.function in ("_&&_", "_||_") else 1)
        case ListNode():
            return LIST + sum(map(_cost, node.elements))
        case MapNode():
            return MAP + sum(_cost(key) + _cost(value) for key, value in node.entries)
        case Struct():
            return STRUCT + sum(_cost(value) for _, value in node.entries)
        case Macro():
            return _cost(node.range) + 1
    return 1
