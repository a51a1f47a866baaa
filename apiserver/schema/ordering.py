"""The order of keys in JSON: that of Go's structs, maps by key, as the real server writes every object.

No client may depend on it, but people read it (`kubectl get --raw`, curl), and texts are compared. The store puts an
object in order once, when it is written: what is read later is those bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.schema.nodes import TypeNode

Order = Callable[[Any], Any]
# An object, another of its kind that is in order already -> the same in order. Parts they share are passed on.
OrderChanged = Callable[[Any, Mapping[str, Any]], Any]


class _Ranks(dict[str, int]):
    """The places of a struct's fields; keys it does not know come last."""

    def __missing__(self, key: str) -> int:
        return len(self)


class Orderings:
    """Compiles the order of types on first use; a type's order is shared by all kinds that contain it."""

    def __init__(self) -> None:
        self._structs: dict[str, _StructOrder] = {}

    def of_changed(self, node: TypeNode) -> OrderChanged:
        """What puts an object of this type in order as the successor of another."""
        return self.struct(node).order_changed

    def of(self, node: TypeNode) -> Order | None:
        """What puts a value of this type in order, or None where there is nothing to order in it."""
        if node.type == "object":
            return self.struct(node).order
        if node.type == "list" and node.items is not None:
            items = self.of(node.items)
            return None if items is None else lambda value: [items(item) for item in value] if value else value
        if node.type == "map" and node.values is not None:
            return _map_order(self.of(node.values))
        return None

    def struct(self, node: TypeNode) -> _StructOrder:
        order = self._structs.get(node.name) if node.name else None
        if order is None:
            order = _StructOrder(node, self)
            if node.name:
                self._structs[node.name] = order
        return order


_Plan = Sequence[tuple[str, Order | None]]

# Of one struct. Objects come in few forms: those of one client have the same fields in the same order.
_MAX_PLANS = 200


class _StructOrder:
    """The order of one struct's fields; made when the first such value comes by, as types may contain themselves."""

    def __init__(self, node: TypeNode, orderings: Orderings) -> None:
        self._node, self._orderings = node, orderings
        self._ranks = _Ranks()
        self._inner: dict[str, Order] = {}
        self._structs: dict[str, _StructOrder] = {}  # the fields that are structs themselves
        self._rank: Callable[[str], int] | None = None
        # The keys of a value -> the same in order, each with the order of what it holds; none where that changes
        # nothing. Full: all are made anew.
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def order(self, value: Any) -> Any:
        plan = self._plan_of(value)
        if not plan:
            return value
        return {key: value[key] if inner is None else inner(value[key]) for key, inner in plan}

    def order_changed(self, value: Any, known: Mapping[str, Any]) -> Any:
        plan = self._plan_of(value)
        if not plan:
            return value
        return {
            key: value[key] if inner is None else self._changed(key, value[key], known, inner) for key, inner in plan
        }

    def _changed(self, key: str, item: Any, known: Mapping[str, Any], inner: Order) -> Any:
        before = known.get(key)
        if item is before:
            return item
        struct = self._structs.get(key)
        return inner(item) if struct is None or not before else struct.order_changed(item, before)

    def _plan_of(self, value: Any) -> _Plan:
        """Of what is no object, too: there is nothing to be put in order."""
        if not value or type(value) is not dict:
            return ()
        keys = tuple(value)
        plan = self._plans.get(keys)
        return self._plan(keys) if plan is None else plan

    def _plan(self, keys: tuple[str, ...]) -> _Plan:
        if self._rank is None:
            self._rank = self._compile()
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        in_order = tuple(sorted(keys, key=self._rank))
        is_moot = in_order == keys and self._inner.keys().isdisjoint(keys)
        plan = self._plans[keys] = () if is_moot else tuple((key, self._inner.get(key)) for key in in_order)
        return plan

    def _compile(self) -> Callable[[str], int]:
        for rank, (name, node) in enumerate(self._node.fields.items()):
            self._ranks[name] = rank
            if (order := self._orderings.of(node)) is not None:
                self._inner[name] = order
                if node.type == "object":
                    self._structs[name] = self._orderings.struct(node)
        return self._ranks.__getitem__


def _map_order(values: Order | None) -> Order:
    def order(value: Any) -> Any:
        if not value or type(value) is not dict:
            return value
        if values is None:
            return value if len(value) == 1 else {key: value[key] for key in sorted(value)}
        return {key: values(value[key]) for key in sorted(value)}

    return order
