"""schedule_one: which node for this pod? A pure function of the pod and a snapshot of the cluster.

Nothing is changed and nothing is awaited; the answer, with everything that led to it, is a Decision. The scheduler
carries it out (scheduler.py). Follows schedulePod in pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from controllers.scheduler.diagnosis import Decision, Diagnosis
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import CycleState
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Code, Status, unresolvable

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
NO_NODES = unresolvable("no nodes available to schedule pods")


def schedule_one(
    framework: Framework,
    pod: PodInfo,
    snapshot: Snapshot,
    rng: Random,
    *,
    state: CycleState | None = None,
    start: int = 0,
    percentage: int = 0,
    explain: bool = False,
) -> Decision:
    """Where the pod should go, or why it cannot.

    `start` is where the search begins, so that a search that stops early does not always see the same nodes;
    `percentage` is how much of the cluster to look for feasible nodes (0: adaptive); `explain` looks at all nodes and
    keeps the scores of each.
    """
    state = CycleState(snapshot) if state is None else state
    diagnosis = Diagnosis(total_nodes=len(snapshot.nodes))
    if not snapshot.nodes:
        return Decision(diagnosis, status=NO_NODES)
    feasible = find_feasible(framework, state, pod, diagnosis, start, 100 if explain else percentage)
    if isinstance(feasible, Status):
        return Decision(diagnosis, status=feasible)
    if not feasible:
        return _make_room(framework, state, pod, diagnosis)
    node_name = _choose(framework, state, pod, feasible, diagnosis, rng, explain)
    if isinstance(node_name, Status):
        return Decision(diagnosis, status=node_name)
    evaluated = len(feasible) + len(diagnosis.node_statuses)
    return Decision(diagnosis, node_name, feasible_nodes=len(feasible), evaluated_nodes=evaluated)


def find_feasible(
    framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, start: int, percentage: int
) -> list[NodeInfo] | Status:
    """Nodes that pass every filter, as many as are worth scoring; the refused ones go into the diagnosis."""
    snapshot = state.snapshot
    names, refusal = framework.pre_filter(state, pod, diagnosis)
    if refusal is not None:
        if not refusal.is_rejected:
            return refusal
        diagnosis.absent = refusal
        diagnosis.pre_filter_message = refusal.message
        diagnosis.note(refusal)
        return []
    if pod.nominated_node_name and (promised := snapshot.get(pod.nominated_node_name)) is not None:
        found = _passing(framework, state, pod, [promised], diagnosis, 0, 1)
        if found:
            return found
    nodes: Sequence[NodeInfo] = snapshot.nodes
    if names is not None:
        nodes = [node for name in sorted(names) if (node := snapshot.get(name)) is not None]
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        diagnosis.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    wanted = nodes_to_find(len(nodes), percentage) if framework.has_scoring else 1
    return _passing(framework, state, pod, nodes, diagnosis, start, wanted)


def nodes_to_find(node_count: int, percentage: int = 0) -> int:
    """How many feasible nodes are enough: all of a small cluster, half of a middling, 5 % of a huge one."""
    if node_count < MIN_FEASIBLE_NODES:
        return node_count
    adaptive = percentage or max(50 - node_count // 125, MIN_PERCENTAGE)
    return max(node_count * adaptive // 100, MIN_FEASIBLE_NODES)


def _passing(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    diagnosis: Diagnosis,
    start: int,
    wanted: int,
) -> list[NodeInfo] | Status:
    """The loop everything else makes room for: node by node, filter by filter."""
    if not nodes:
        return []
    start %= len(nodes)
    in_turn = nodes if start == 0 else [*nodes[start:], *nodes[:start]]
    if not framework.nominator.is_empty:
        return _passing_with_nominated(framework, state, pod, in_turn, diagnosis, wanted)
    filters = framework.filters(state)
    found: list[NodeInfo] = []
    refused = diagnosis.node_statuses
    noted: Status | None = None  # most refusals are one of a few constants: look at each of them once
    for node in in_turn:
        for name, passes in filters:
            status = passes(state, pod, node)
            if status is not None:
                if status is not noted:
                    status = noted = status.of(name)
                    if not status.is_rejected:
                        return status
                    diagnosis.note(status)
                refused[node.name] = status
                break
        else:
            found.append(node)
            if len(found) >= wanted:
                break
    return found


def _passing_with_nominated(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    diagnosis: Diagnosis,
    wanted: int,
) -> list[NodeInfo] | Status:
    found: list[NodeInfo] = []
    for node in nodes:
        status = framework.filter_with_nominated(state, pod, node)
        if status is None:
            found.append(node)
            if len(found) >= wanted:
                break
        elif status.is_rejected:
            diagnosis.refuse(node.name, status)
        else:
            return status
    return found


def _choose(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    diagnosis: Diagnosis,
    rng: Random,
    explain: bool,
) -> str | Status:
    """The node with the highest sum of scores; among equals, chance decides."""
    if len(nodes) == 1 and not explain:
        return nodes[0].name
    scores = framework.score(state, pod, nodes)
    if isinstance(scores, Status):
        return scores
    totals = [sum(of_node) for of_node in zip(*scores.values(), strict=True)] or [0] * len(nodes)
    best = max(totals)
    winner = nodes[rng.choice([position for position, total in enumerate(totals) if total == best])].name
    if explain:
        for position, node in enumerate(nodes):
            diagnosis.scores[node.name] = {plugin: of_nodes[position] for plugin, of_nodes in scores.items()}
    return winner


def _make_room(framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Decision:
    """No node fits: ask whether removing pods would help."""
    nomination, status = framework.post_filter(state, pod, diagnosis.node_statuses, diagnosis.absent)
    diagnosis.post_filter_message = status.message if status is not None else ""
    evaluated = len(diagnosis.node_statuses)
    return Decision(diagnosis, "", Status(Code.UNSCHEDULABLE), nomination, evaluated_nodes=evaluated)
