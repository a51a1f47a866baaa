"""Columns: what the nodes of a snapshot answer to a question, kept from one pod to the next.

Pods ask the nodes much the same as the pods before them ("is there room for 100m?"), and between two pods hardly a
node changes. So answers are kept by question, and only nodes that changed are asked again: what a pod costs depends on
how much has happened since the last one, not on the number of nodes.

An answer may depend on the node and on the question, and on nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

from controllers.scheduler.node_info import NodeInfo

T = TypeVar("T")
Ask = Callable[[Sequence[NodeInfo]], Sequence[T]]  # one answer a node, in their order
Shares = Sequence[tuple[Any, int]]  # what a node adds to which domains

Pick = Callable[[list[Any]], list[Any]]
Places = tuple[Sequence[int], Pick]

MANY = 50  # so many nodes are worth remembering where they are
MAX_COLUMNS = 200  # full: the one that was not asked for longest is forgotten
MAX_CHANGES = 10_000  # full: all are forgotten, and nodes asked anew


class Columns:
    """Of one snapshot. `nodes` is the snapshot's own list: a node is known by its position there."""

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self._nodes = nodes
        self._changes: list[int] = []  # positions of the nodes that changed, in the order they did
        self._columns: OrderedDict[Hashable, Column] = OrderedDict()
        self._asked: Sequence[NodeInfo] = ()  # of the last call for many, which are nearly always those of the next
        self._places: Places = (), _picker((), 0)  # theirs

    def changed(self, position: int) -> None:
        if len(self._changes) >= MAX_CHANGES:
            self._changes.clear()
            self._columns.clear()
        self._changes.append(position)

    def answers(self, question: Hashable, ask: Ask[T], nodes: Sequence[NodeInfo]) -> list[T]:
        """What these nodes answer, in their order. The sequence must not be changed afterwards."""
        positions, pick = self._places_of(nodes)  # `ask` may ask for answers itself
        column = self._column(question, Column)
        column.learn(self._nodes, self._changes, ask, positions)
        return pick(column.values)

    def totals(self, question: Hashable, ask: Ask[Shares]) -> dict[Any, int]:
        """The shares of all nodes added up by domain; domains of no node are absent. Read-only, until the next call."""
        tally = self._column(question, Tally)
        tally.learn(self._nodes, self._changes, ask, range(len(self._nodes)))
        return tally.totals

    def _places_of(self, nodes: Sequence[NodeInfo]) -> Places:
        if nodes is self._asked:
            return self._places
        positions = [node.position for node in nodes]
        places = positions, _picker(positions, len(self._nodes))
        if len(nodes) >= MANY:
            self._asked, self._places = nodes, places
        return places

    def _column(self, question: Hashable, kind: type[C]) -> C:
        column = self._columns.get((kind, question))
        if column is None:
            if len(self._columns) >= MAX_COLUMNS:
                self._columns.popitem(last=False)
            column = self._columns[kind, question] = kind(len(self._nodes), len(self._changes))
        else:
            self._columns.move_to_end((kind, question))
        assert isinstance(column, kind)
        return column


class Column:
    """Invariant: `values` holds what the nodes said; those of `_unknown` have not been asked since they changed."""

    def __init__(self, size: int, changes_seen: int) -> None:
        self.values: list[Any] = [None] * size
        self._unknown = set(range(size))
        self._changes_seen = changes_seen

    def learn(
        self, nodes: Sequence[NodeInfo], changes: Sequence[int], ask: Ask[Any], positions: Collection[int]
    ) -> None:
        """Ask what is unknown at these positions; and at others, where that is less."""
        if self._changes_seen < len(changes):
            self._unknown.update(changes[self._changes_seen :])
            self._changes_seen = len(changes)
        unknown = self._unknown
        if len(unknown) > len(positions):
            unknown = unknown.intersection(positions)
        if not unknown:
            return
        asked = list(unknown)
        for position, answer in zip(asked, ask([nodes[position] for position in asked]), strict=True):
            self._put(position, answer)
        self._unknown.difference_update(asked)

    def _put(self, position: int, answer: Any) -> None:
        self.values[position] = answer


class Tally(Column):
    """Invariant: `totals` is the sum of `values`, which are Shares; None counts for nothing."""

    def __init__(self, size: int, changes_seen: int) -> None:
        super().__init__(size, changes_seen)
        self.totals: dict[Any, int] = {}
        self._sharing: dict[Any, int] = {}  # how many nodes have a share in it

    def _put(self, position: int, answer: Shares) -> None:
        before = self.values[position]
        if answer == before:
            return
        for domain, number in answer:
            self.totals[domain] = self.totals.get(domain, 0) + number
            self._sharing[domain] = self._sharing.get(domain, 0) + 1
        for domain, number in before or ():
            self.totals[domain] -= number
            self._sharing[domain] -= 1
            if not self._sharing[domain]:
                del self.totals[domain], self._sharing[domain]
        self.values[position] = answer


def _picker(positions: Sequence[int], size: int) -> Pick:
    """Takes the values at these positions out of a list of `size`.

    A search looks at the nodes in turn, from wherever the last one ended and past the end to the first ones: then the
    values are one or two slices, at a tenth of what it costs to take them one by one.
    """
    if not positions:
        return lambda values: []
    first = positions[0]
    end = first + len(positions)
    if positions == [*range(first, min(end, size)), *range(end - size)]:
        if end <= size:
            return lambda values: values[first:end]
        return lambda values: values[first:] + values[: end - size]
    return lambda values: [values[i] for i in positions]


C = TypeVar("C", bound=Column)
