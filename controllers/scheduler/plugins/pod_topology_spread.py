"""PodTopologySpread: pods of a kind spread over zones, nodes or any other domain of nodes.

DoNotSchedule constraints refuse nodes whose domain would be too far ahead of the emptiest one; ScheduleAnyway ones cost
points. A pod without constraints of its own spreads softly over nodes and zones with the pods of its service or owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

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
from controllers.scheduler.spread_constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    Constraint,
    add_up,
    constraints_of,
    count_matching,
    has_all_keys,
)
from controllers.scheduler.status import SKIP, Code, Status
from controllers.scheduler.tokens import Tokens
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


@dataclass(slots=True)
class SoftSpread:
    """What Score needs."""

    constraints: Sequence[Constraint]
    tokens: Sequence[int]
    ignored: set[str] = field(default_factory=set)  # nodes that lack a topology label
    counts: list[dict[str, int]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)  # the more domains, the more one pod more counts


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Arguments: `defaultingType` (System or List) and `defaultConstraints`."""

    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._is_system_default = (handle.args.get("defaultingType") or "System") == "System"
        listed = handle.args.get("defaultConstraints") or ()
        self._defaults = SYSTEM_DEFAULTS if self._is_system_default else listed
        self._default_selectors = DefaultSelectors(handle)
        self._tokens = Tokens()

    # Filter --------------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        if not constraints:
            return SKIP
        counts: list[dict[str, int]] = [{} for _ in constraints]
        tokens = self._tokens_of(pod, constraints)
        nodes = _in_all_domains(state.snapshot.nodes, constraints)
        for constraint, of_domain, token in zip(constraints, counts, tokens, strict=True):
            add_up(of_domain, nodes, pod, constraint, token, is_new_domain_counted=True)
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
        spread = SoftSpread(constraints, self._tokens_of(pod, constraints))
        _note_domains(spread, nodes, needs_all_keys)
        all_nodes: Sequence[NodeInfo] = state.snapshot.nodes
        if needs_all_keys:
            all_nodes = _in_all_domains(all_nodes, constraints)
        for constraint, of_domain, token in zip(constraints, spread.counts, spread.tokens, strict=True):
            if of_domain:
                add_up(of_domain, all_nodes, pod, constraint, token, is_new_domain_counted=False)
        state["PreScore" + NAME] = spread
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """The number of matching pods around, weighted; the fewer the better."""
        spread: SoftSpread = state["PreScore" + NAME]
        sums = [0.0] * len(nodes)
        for constraint, of_domain, weight, token in zip(
            spread.constraints, spread.counts, spread.weights, spread.tokens, strict=True
        ):
            key, extra, is_by_node = (
                constraint.topology_key,
                constraint.max_skew - 1,
                constraint.topology_key == HOSTNAME,
            )
            for position, node in enumerate(nodes):
                value = node.labels.get(key)
                if value is None or node.name in spread.ignored:
                    continue
                matching = node.memo.get(token) if is_by_node else of_domain[value]
                if matching is None:
                    matching = count_matching(node, pod.namespace, constraint.selector, token)
                sums[position] += matching * weight + extra
        return [int(total + 0.5) for total in sums]

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        ignored = state["PreScore" + NAME].ignored
        counted = [score for score, node in zip(scores, nodes, strict=True) if node.name not in ignored]
        lowest, highest = min(counted, default=0), max(counted, default=0)
        if highest == 0:
            return [0 if node.name in ignored else MAX_NODE_SCORE for node in nodes]
        return [
            0 if node.name in ignored else MAX_NODE_SCORE * (highest + lowest - score) // highest
            for score, node in zip(scores, nodes, strict=True)
        ]

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

    def _tokens_of(self, pod: PodInfo, constraints: Sequence[Constraint]) -> list[int]:
        return [self._tokens.of((pod.namespace, constraint.selector)) for constraint in constraints]

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


def _in_all_domains(nodes: Sequence[NodeInfo], constraints: Sequence[Constraint]) -> list[NodeInfo]:
    keys = [constraint.topology_key for constraint in constraints]
    if len(keys) == 1:
        key = keys[0]
        return [node for node in nodes if key in node.labels]
    return [node for node in nodes if all(key in node.labels for key in keys)]


def _note_domains(spread: SoftSpread, nodes: Sequence[NodeInfo], needs_all_keys: bool) -> None:
    """The domains the feasible nodes are in; domains without one cannot win and are not counted."""
    spread.counts = [{} for _ in spread.constraints]
    for node in nodes:
        if needs_all_keys and not has_all_keys(spread.constraints, node.labels):
            spread.ignored.add(node.name)
            continue
        for constraint, of_domain in zip(spread.constraints, spread.counts, strict=True):
            if constraint.topology_key != HOSTNAME:
                of_domain.setdefault(node.labels.get(constraint.topology_key, ""), 0)
    nodes_counted = len(nodes) - len(spread.ignored)
    sizes = [
        nodes_counted if constraint.topology_key == HOSTNAME else len(of_domain)
        for constraint, of_domain in zip(spread.constraints, spread.counts, strict=True)
    ]
    spread.weights = [log(size + 2) for size in sizes]


def _update(spread: Spread, pod: PodInfo, other: PodInfo, node: NodeInfo, change: int) -> None:
    if other.namespace != pod.namespace or not has_all_keys(spread.constraints, node.labels):
        return
    for i, constraint in enumerate(spread.constraints):
        if constraint.selector.matches(other.labels) and constraint.counts_node(pod, node):
            value = node.labels[constraint.topology_key]
            spread.counts[i][value] = spread.counts[i].get(value, 0) + change
            spread.fewest[i] = None
