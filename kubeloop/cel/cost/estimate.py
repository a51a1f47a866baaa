"""The cost of a checked expression at worst: every node's own, loops as often as what they run over can be long.

Facts: github.com/google/cel-go checker/cost.go (v0.26), apiextensions-apiserver/pkg/apiserver/schema/cel (v1.36).
Definitions are refused by these numbers, so they are upstream's, with what is odd about them: a value whose
path does not begin at a variable is looked up as if it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubeloop.cel.cost.calls import LIST, MAP, STRUCT, CallCost, Operand, call_cost, compared, same_cost
from kubeloop.cel.cost.ranges import MOST, NONE_YET, NOTHING, ONE, UNKNOWN, Range
from kubeloop.cel.cost.sizes import Sizes
from kubeloop.cel.syntax import Call, Ident, ListNode, Literal, Macro, MapNode, Node, Select, Struct
from kubeloop.cel.types import BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT, Type

Path = tuple[str, ...]
NO_PATH: Path = ()
_FIXED_SIZE = (BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT)
_QUANTIFIERS = ("all", "exists", "exists_one", "existsOne")


def estimated_cost(node: Node, sizes: Sizes | None) -> int:
    """What evaluating an expression over values of these sizes can cost at most."""
    return _Estimator(sizes).cost(node).most


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of a container's keys and values."""

    is_list: bool
    key: Range
    value: Range

    def or_else(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.is_list, self.key.or_else(other.key), self.value.or_else(other.value))


@dataclass(frozen=True, slots=True)
class _Variable:
    path: Path
    size: Range | None
    entries: _Entries | None = None


class _Estimator:
    def __init__(self, sizes: Sizes | None) -> None:
        self._sizes = sizes
        self._scopes: list[dict[str, _Variable]] = []
        # By the identity of nodes, all of which are kept: the expression's by the caller, others here.
        self._made: list[Node] = []
        self._paths: dict[int, Path] = {}
        self._known: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}

    # -- costs ----------------------------------------------------------------------------------------------------

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Ident():
                variable = self._variable(node.name)
                self._paths[id(node)] = (node.name,) if variable is None else variable.path
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Struct():
                return self._sum([value for _, value in node.entries]) + Range.exactly(STRUCT)
            case Macro():
                return self._macro(node)
        raise AssertionError("every node is one of these")

    def _sum(self, nodes: Sequence[Node]) -> Range:
        total = NOTHING
        for node in nodes:
            total += self.cost(node)
        return total

    def _select(self, node: Select) -> Range:
        if node.variable:
            self._paths[id(node)] = (node.variable,)
            return ONE
        cost = self.cost(node.operand)
        if node.is_test:
            return cost  # presence tests are free
        if node.is_optional:
            return cost + ONE
        of = node.operand.type
        self._paths[id(node)] = (*self._path(node.operand), node.name)
        return cost + ONE if of.fields is not None or of.name == "map" else cost

    def _list(self, node: ListNode) -> Range:
        cost, size = NOTHING, NONE_YET if node.elements else NOTHING
        for element in node.elements:
            cost += self.cost(element)
            size = size.or_else(self._extent(element))
        self._entries[id(node)] = _Entries(True, ONE, size)
        return cost + Range.exactly(LIST)

    def _map(self, node: MapNode) -> Range:
        cost = NOTHING
        keys = values = NONE_YET if node.entries else NOTHING
        for key, value in node.entries:
            cost += self.cost(key) + self.cost(value)
            keys, values = keys.or_else(self._extent(key)), values.or_else(self._extent(value))
        self._entries[id(node)] = _Entries(False, keys, values)
        return cost + Range.exactly(MAP)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Range:
        if node.function == "dyn" and node.target is None:
            return self._untyped(node)
        costs = [self.cost(argument) for argument in node.arguments]
        total = NOTHING
        if node.target is not None:
            total = self.cost(node.target)
        if node.function in ("_&&_", "_||_"):
            return Range(costs[0].least, (costs[0] + costs[1]).most)
        if node.function == "_?_:_":
            return self._choice(node, costs)
        for cost in costs:
            total += cost
        found = self._own_cost(node)
        if found.size is not None:
            self._known[id(node)] = found.size
        return total + found.cost

    def _untyped(self, node: Call) -> Range:
        (argument,) = node.arguments
        cost = self.cost(argument)
        self._copy_sizes(node, argument)
        return cost + ONE

    def _choice(self, node: Call, costs: Sequence[Range]) -> Range:
        _, yes, no = node.arguments
        self._known[id(node)] = self._extent(yes).or_else(self._extent(no))
        entries = self._entries_of(yes)
        if entries is not None and (both := entries.or_else(self._entries_of(no))) is not None:
            self._entries[id(node)] = both
        return costs[0] + costs[1].or_else(costs[2])

    def _own_cost(self, node: Call) -> CallCost:
        """Of all the overloads that may be meant."""
        arguments = [self._operand(argument) for argument in node.arguments]
        if node.function in ("_==_", "_!=_"):
            left, right = arguments
            if node.function == "_==_":
                return same_cost(left, right)
            return compared(left.extent, right.extent)
        if node.function == "@in":
            return self._membership(arguments)
        if node.function == "_[_]":
            return self._index(node)
        target = None if node.target is None else self._operand(node.target)
        cost, size = NONE_YET, None
        for parameters in node.overloads:
            found = call_cost(node.function, parameters, target, arguments)
            cost = cost.or_else(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.or_else(found.size)
        if node.function == "_+_" and not node.overloads[0][0].is_parameter:
            self._add_entries(node)
        return CallCost(ONE if cost == NONE_YET else cost, self._size(node) if size is None else size)

    def _membership(self, arguments: Sequence[Operand]) -> CallCost:
        holder = arguments[1]
        in_list = holder.extent
        if holder.type.name == "list":
            return CallCost(in_list)
        return CallCost(ONE) if holder.type.name == "map" else CallCost(in_list.or_else(ONE))

    def _index(self, node: Call) -> CallCost:
        holder = node.arguments[0]
        if holder.type.name in ("list", "map", "dyn"):
            step = "@items" if holder.type.name == "list" else "@values"
            self._paths[id(node)] = (*self._path(holder), step)
        entries = self._entries_of(holder)
        return CallCost(ONE, self._size(node) if entries is None else entries.value)

    def _add_entries(self, node: Call) -> None:
        left, right = node.arguments
        entries = self._entries_of(left)
        if entries is not None and (both := entries.or_else(self._entries_of(right))) is not None:
            self._entries[id(node)] = both

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        elements = UNKNOWN
        if node.type.parameters and path and (size := self._declared((*path, "@items"))) is not None:
            elements = size
        return Operand(node, node.type, self._size(node), elements)

    # -- macros ---------------------------------------------------------------------------------------------------

    def _macro(self, node: Macro) -> Range:
        if node.name == "bind":
            return self._named(node)
        if node.name in ("optMap", "optFlatMap"):
            return self._on_optional(node)
        if node.name == "sortBy":
            return self._sort_by(node)
        cost = self.cost(node.range)
        self._scopes.append(self._loop_variables(node))
        count = self._extent(node.range)
        if node.name in _QUANTIFIERS:
            cost += count * self._quantifier_turn(node)
            cost += Range.exactly(1 if node.name in ("all", "exists") else 2)
            self._known[id(node)] = ONE
        elif node.name.startswith("transformMap"):
            cost += Range.exactly(MAP) + count * self._map_turn(node) + ONE
            self._known[id(node)] = count
        else:
            cost += Range.exactly(LIST) + count * self._list_turn(node) + ONE
            self._known[id(node)] = count
        self._scopes.pop()
        return cost

    def _loop_variables(self, node: Macro) -> dict[str, _Variable]:
        path, entries = self._path(node.range), self._entries_of(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.name == "list"
        key = entries.key if entries is not None else None
        value = entries.value if entries is not None else None
        if len(node.variables) == 2:
            first, second = node.variables
            steps = ("@indices", "@items") if is_list else ("@keys", "@values")
            return {first: _Variable((*path, steps[0]), key), second: _Variable((*path, steps[1]), value)}
        (only,) = node.variables
        return {only: _Variable((*path, "@items"), value) if is_list else _Variable((*path, "@keys"), key)}

    def _quantifier_turn(self, node: Macro) -> Range:
        predicate = self.cost(node.arguments[0])
        match node.name:
            case "all":  # whether to go on (2), and the step: what is known so far && the predicate
                return Range(3, min(3 + predicate.most, MOST))
            case "exists":
                return Range(4, min(4 + predicate.most, MOST))
            case _:  # the predicate ? count + 1 : count
                return predicate + Range(1, 2)

    def _list_turn(self, node: Macro) -> Range:
        """found + [element], where there is a filter: or found."""
        filters, element = list(node.arguments[:-1]), node.arguments[-1]
        if node.name == "filter":
            filters, element = list(node.arguments), self._element(node)
        filter_cost = self._sum(filters)
        step = self.cost(element) + Range.exactly(LIST + 2)
        entries = _Entries(True, ONE, NOTHING).or_else(_Entries(True, ONE, self._extent(element)))
        assert entries is not None
        self._entries[id(node)] = entries
        return filter_cost + step.or_else(ONE) if filters else step

    def _element(self, node: Macro) -> Node:
        """The variable of a loop, as what each turn adds."""
        element = Ident(node.position, node.variables[0])
        element.type = node.type.parameters[0] if node.type.parameters else node.type
        self._made.append(element)
        return element

    def _map_turn(self, node: Macro) -> Range:
        *filters, value = node.arguments
        filter_cost = self._sum(filters)
        step = self.cost(value) + Range.exactly(3 if node.name == "transformMap" else 2)
        return filter_cost + step.or_else(ONE) if filters else step

    def _on_optional(self, node: Macro) -> Range:
        """target.hasValue() ? optional.of(bind(variable, target.value(), body)) : optional.none()."""
        target = self.cost(node.range) + ONE
        bound = self._bound(node, target)
        if node.name == "optMap":
            bound += ONE
        return target + bound.or_else(ONE)

    def _named(self, node: Macro) -> Range:
        """bind(variable, value, body): a loop over nothing, which begins with the value."""
        cost = Range.exactly(LIST) + self.cost(node.range)
        known = _Variable(self._path(node.range), self._size(node.range), self._entries_of(node.range))
        self._scopes.append({node.variables[0]: known})
        (body,) = node.arguments
        cost += self.cost(body)
        self._copy_sizes(node, body)
        self._scopes.pop()
        return cost

    def _bound(self, node: Macro, value_cost: Range) -> Range:
        inner = node.range.type.parameters[0] if node.range.type.parameters else node.range.type
        size = ONE if inner in _FIXED_SIZE else None
        self._scopes.append({node.variables[0]: _Variable(NO_PATH, size)})
        cost = Range.exactly(LIST) + value_cost + self.cost(node.arguments[0])
        self._scopes.pop()
        return cost

    def _sort_by(self, node: Macro) -> Range:
        """bind(list, target, list.@sortByAssociatedKeys(list.map(variable, key)))."""
        keys = Macro(node.position, "map", node.range, node.variables, node.arguments)
        keys.type = Type("list", (node.arguments[0].type,))
        self._made.append(keys)
        cost = Range.exactly(LIST) + self.cost(node.range) + ONE  # the list is named again as the receiver
        cost += self.cost(keys)
        operand = self._operand(node.range)
        found = call_cost("@sortByAssociatedKeys", (operand.type, keys.type), operand, [self._operand(keys)])
        self._copy_sizes(node, node.range)
        return cost + found.cost

    # -- sizes ----------------------------------------------------------------------------------------------------

    def _variable(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (variable := self._variable(node.name)) is not None:
            return variable.path
        return self._paths.get(id(node), NO_PATH)

    def _extent(self, node: Node) -> Range:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _size(self, node: Node) -> Range | None:
        if (known := self._known.get(id(node))) is not None:
            return known
        match node:
            case Literal():
                is_long = isinstance(node.value, str | bytes)
                return Range.exactly(len(node.value) if is_long else 1)
            case ListNode():
                return Range.exactly(len(node.elements))
            case MapNode():
                return Range.exactly(len(node.entries))
        if path := self._path(node):
            declared = self._declared(path)
            if declared is not None:
                self._known[id(node)] = declared
                return declared
        if _is_fixed(node.type):
            return ONE
        variable = self._variable(node.name) if isinstance(node, Ident) else None
        return variable.size if variable is not None else None

    def _declared(self, path: Path) -> Range | None:
        """What the schema says of the value at a path, whose first step is the variable."""
        sizes = self._sizes
        for step in path[1:]:
            if sizes is None:
                return None
            if step in ("@items", "@values"):
                sizes = sizes.element
            elif step == "@keys":
                sizes = sizes.key
            else:
                sizes = sizes.fields.get(step)
        return None if sizes is None else Range(0, sizes.most_elements)

    def _entries_of(self, node: Node) -> _Entries | None:
        if (known := self._entries.get(id(node))) is not None:
            return known
        variable = self._variable(node.name) if isinstance(node, Ident) else None
        return variable.entries if variable is not None else None

    def _copy_sizes(self, to: Node, source: Node) -> None:
        if (size := self._size(source)) is not None:
            self._known[id(to)] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[id(to)] = entries


def _is_fixed(type_: Type) -> bool:
    if type_.name == "optional_type" and type_.parameters:
        return _is_fixed(type_.parameters[0])
    return type_ in _FIXED_SIZE
