"""PodTopologySpread: pods of a kind spread over zones, nodes or any other domain of nodes.

DoNotSchedule constraints refuse nodes whose domain would be too far ahead of the emptiest one; ScheduleAnyway ones cost
points. A pod without constraints of its own spreads softly over nodes and zones with the pods of its service or owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from controllers.scheduler.default_selector import DefaultSelectors
from controllers.scheduler.events import (
    ADD,
    DELETE,
    NODE,
    POD,
    UPDATE_NODE_LABEL,
    UPDATE_NODE_TAINT,
    UPDATE_POD_LABEL,
    UPDATE_POD_TOLERATION,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import (
    MAX_NODE_SCORE,
    CycleState,
    FilterPlugin,
    Handle,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.pod_topology_spread_hints import node_hint, pod_hint
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.spread_constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    Constraint,
    constraints_of,
    has_all_keys,
    matching_by_domain,
    matching_pods,
)
from controllers.scheduler.status import SKIP, Code, Status
from kubeloop.apimachinery.meta import ReadOnlyObject

NAME = "PodTopologySpread"
_REASON = "node(s) didn't match pod topology spread constraints"
TOO_UNEVEN = Status(Code.UNSCHEDULABLE, (_REASON,), NAME)
NO_LABEL = Status(Code.UNRESOLVABLE, (f"{_REASON} (missing required label)",), NAME)


@dataclass(slots=True)
class Spread:
    """What Filter needs, per constraint: matching pods by domain, and the fewest in any domain.

    `fewest` is worked out anew after add_pod and remove_pod only (None: not yet).
    """

    constraints: Sequence[Constraint]
    counts: list[dict[str, int]]
    is_match: list[bool]  # whether the pod itself matches the selector
    fewest: list[int | None]

    def clone(self) -> Spread:
        return Spread(
            self.constraints, [dict(of_domain) for of_domain in self.counts], self.is_match, list(self.fewest)
        )

    def minimum(self, i: int) -> int:
        """0 while there are fewer domains than the constraint wants."""
        found = self.fewest[i]
        if found is None:
            of_domain = self.counts[i]
            enough = len(of_domain) >= self.constraints[i].min_domains
            found = self.fewest[i] = min(of_domain.values(), default=0) if enough else 0
        return found


Place = tuple[Any, ...]

MAX_PLACES = 100_000  # with numbers; full: they are numbered anew


class Places:
    """Places by number. A thousand nodes are in a few dozen, and numbers are counted and looked up sooner."""

    def __init__(self) -> None:
        self._numbers: dict[Place, int] = {}
        self.by_number: list[Place] = []

    def number(self, place: Place) -> int:
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self.by_number)
            self.by_number.append(place)
        return found


@dataclass(slots=True)
class SoftSpread:
    """What Score needs, for the feasible nodes in their order.

    A place is all that matters of a node: for each constraint the value of its label, or how many pods on the node
    match where nodes are the domains; None where the label is missing.
    """

    constraints: Sequence[Constraint]
    places: Sequence[int]  # their numbers
    distinct: Mapping[int, Place]
    ignored: set[int] = field(default_factory=set)  # where a topology label is missing and all are needed
    rated: Mapping[int, int] = field(default_factory=dict)  # by place, without the ignored ones
    matching: list[Mapping[str, int] | None] = field(default_factory=list)  # by constraint and domain
    weights: list[float] = field(default_factory=list)  # the more domains, the more one pod more counts

    def size(self, i: int) -> int:
        """How many domains of a constraint the nodes are in; no label is a domain too, as upstream has it."""
        if self.constraints[i].topology_key != HOSTNAME:
            return len({place[i] or "" for number, place in self.distinct.items() if number not in self.ignored})
        return len(self.places) - (sum(number in self.ignored for number in self.places) if self.ignored else 0)

    def rates(self) -> dict[int, int]:
        """Of each place; the ignored ones have none."""
        return {number: self._rate(place) for number, place in self.distinct.items() if number not in self.ignored}

    def _rate(self, place: Place) -> int:
        total = 0.0
        for found, constraint, matching, weight in zip(
            place, self.constraints, self.matching, self.weights, strict=True
        ):
            if found is not None:
                number = found if matching is None else matching.get(found, 0)
                total += number * weight + (constraint.max_skew - 1)
        return int(total + 0.5)


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Arguments: `defaultingType` (System or List) and `defaultConstraints`."""

    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._is_system_default = (handle.args.get("defaultingType") or "System") == "System"
        listed = handle.args.get("defaultConstraints") or ()
        self._defaults = SYSTEM_DEFAULTS if self._is_system_default else listed
        self._default_selectors = DefaultSelectors(handle)
        self._places = Places()

    # Filter --------------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        if not constraints:
            return SKIP
        keys = _keys(constraints)
        counts = [matching_by_domain(state.snapshot, pod, constraint, keys) for constraint in constraints]
        is_match = [constraint.selector.matches(pod.labels) for constraint in constraints]
        state[NAME] = Spread(constraints, counts, is_match, [None] * len(constraints))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        spread: Spread = state[NAME]
        for i, constraint in enumerate(spread.constraints):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return NO_LABEL
            skew = spread.counts[i].get(value, 0) + spread.is_match[i] - spread.minimum(i)
            if skew > constraint.max_skew:
                return TOO_UNEVEN
        return None

    def filter_labels(self, state: CycleState, pod: PodInfo) -> Sequence[str]:
        return _keys(state[NAME].constraints)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        _update(state[NAME], pod, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        _update(state[NAME], pod, removed, node, -1)

    # Score ---------------------------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        if not constraints:
            return SKIP
        needs_all_keys = bool(pod.spec.get("topologySpreadConstraints")) or not self._is_system_default
        if len(self._places.by_number) > MAX_PLACES:
            self._places = Places()
        places = _places(self._places, state.snapshot, pod, constraints, nodes)
        spread = SoftSpread(constraints, places, {number: self._places.by_number[number] for number in set(places)})
        if needs_all_keys:
            spread.ignored = {number for number, place in spread.distinct.items() if None in place}
        keys = _keys(constraints)
        for i, constraint in enumerate(constraints):
            needed = keys if needs_all_keys else (constraint.topology_key,)
            is_by_node = constraint.topology_key == HOSTNAME
            spread.matching.append(None if is_by_node else matching_by_domain(state.snapshot, pod, constraint, needed))
            spread.weights.append(log(spread.size(i) + 2))
        state["PreScore" + NAME] = spread
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """The number of matching pods around, weighted; the fewer the better. Nodes in like places are rated once."""
        spread: SoftSpread = state["PreScore" + NAME]
        spread.rated = spread.rates()
        scores = {**spread.rated, **dict.fromkeys(spread.ignored, 0)}
        return list(map(scores.__getitem__, spread.places))

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        spread: SoftSpread = state["PreScore" + NAME]
        counted = set(spread.rated.values())
        lowest, highest = min(counted, default=0), max(counted, default=0)
        normal = {
            score: MAX_NODE_SCORE * (highest + lowest - score) // highest if highest else MAX_NODE_SCORE
            for score in {0, *counted}
        }
        normalized = list(map(normal.__getitem__, scores))
        if not spread.ignored:
            return normalized
        return [0 if place in spread.ignored else score for place, score in zip(spread.places, normalized, strict=True)]

    # Both ----------------------------------------------------------------------------------------------------------

    def _constraints(self, pod: PodInfo, action: str) -> list[Constraint]:
        own = pod.spec.get("topologySpreadConstraints")
        if own:
            return constraints_of(own, action, pod.labels)
        defaults = [entry for entry in self._defaults if entry.get("whenUnsatisfiable") == action]
        if not defaults:
            return []
        selector = self._default_selectors.of(pod)
        return [] if selector.is_empty else constraints_of(defaults, action, pod.labels, selector)

    def events(self) -> Sequence[RegisteredEvent]:
        pod_actions = ADD | UPDATE_POD_LABEL | UPDATE_POD_TOLERATION | DELETE
        node_actions = ADD | DELETE | UPDATE_NODE_LABEL | UPDATE_NODE_TAINT
        return (
            RegisteredEvent(ClusterEvent(POD, pod_actions), self._after_pod_change),
            RegisteredEvent(ClusterEvent(NODE, node_actions), self._after_node_change),
        )

    def _after_pod_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        return pod_hint(self._constraints(pod, DO_NOT_SCHEDULE), pod, old, new)

    def _after_node_change(self, pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
        return node_hint(self._constraints(pod, DO_NOT_SCHEDULE), old, new)


def _keys(constraints: Sequence[Constraint]) -> tuple[str, ...]:
    return tuple(constraint.topology_key for constraint in constraints)


def _places(
    places: Places, snapshot: Snapshot, pod: PodInfo, constraints: Sequence[Constraint], nodes: Sequence[NodeInfo]
) -> list[int]:
    """The numbers of the places of these nodes."""

    def ask(asked: Sequence[NodeInfo]) -> list[int]:
        found = [
            _only_labelled(HOSTNAME, matching_pods(snapshot, pod.namespace, constraint.selector, asked), asked)
            if constraint.topology_key == HOSTNAME
            else [node.labels.get(constraint.topology_key) for node in asked]
            for constraint in constraints
        ]
        return list(map(places.number, zip(*found, strict=True)))

    by = tuple((constraint.topology_key, constraint.selector) for constraint in constraints)
    return snapshot.answers(("place", places, pod.namespace, by), ask, nodes)


def _only_labelled(label: str, numbers: Sequence[int], nodes: Sequence[NodeInfo]) -> list[int | None]:
    """None where the node has no such label."""
    return [number if label in node.labels else None for node, number in zip(nodes, numbers, strict=True)]


def _update(spread: Spread, pod: PodInfo, other: PodInfo, node: NodeInfo, change: int) -> None:
    if other.namespace != pod.namespace or not has_all_keys(spread.constraints, node.labels):
        return
    for i, constraint in enumerate(spread.constraints):
        if constraint.selector.matches(other.labels) and constraint.counts_node(pod, node):
            value = node.labels[constraint.topology_key]
            spread.counts[i][value] = spread.counts[i].get(value, 0) + change
            spread.fewest[i] = None
