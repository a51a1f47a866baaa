"""schedule_one: which node for this pod? A pure function of the pod and a snapshot of the cluster.

Nothing is changed and nothing is awaited; the answer, with everything that led to it, is a Decision. The scheduler
carries it out (scheduler.py). Follows schedulePod in pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from random import Random
from types import MappingProxyType

from controllers.scheduler.diagnosis import Decision, Diagnosis
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import CycleState, Nomination
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Code, Status, unresolvable

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
MIN_NODES_AT_ONCE = 50
NO_SCORES: Mapping[str, list[int]] = MappingProxyType({})
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
    """Where the pod should go, or why it cannot. HTTP extenders are not asked (extenders/deciding.py does).

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
        return no_node(diagnosis, *framework.post_filter(state, pod, diagnosis.node_statuses, diagnosis.absent))
    return best_of(framework, state, pod, feasible, diagnosis, rng, explain=explain)


def find_feasible(
    framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, start: int, percentage: int
) -> list[NodeInfo] | Status:
    """Nodes that pass every filter, as many as are worth scoring; the refused ones go into the diagnosis."""
    found: list[NodeInfo] | Status = []
    for found in searches(framework, state, pod, diagnosis, start, percentage):
        if found:
            break
    return found


def searches(
    framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, start: int, percentage: int
) -> Iterator[list[NodeInfo] | Status]:
    """The same in turn: first among the node that the pod is promised, then among all."""
    snapshot = state.snapshot
    names, refusal = framework.pre_filter(state, pod, diagnosis)
    if refusal is not None:
        if refusal.is_rejected:
            diagnosis.absent = refusal
            diagnosis.pre_filter_message = refusal.message
            diagnosis.note(refusal)
        else:
            yield refusal
        return
    if pod.nominated_node_name and (promised := snapshot.get(pod.nominated_node_name)) is not None:
        yield _passing_of_few(framework, state, pod, [promised], diagnosis, 1)
    nodes: Sequence[NodeInfo] = snapshot.nodes
    if names is not None:
        nodes = [node for name in sorted(names) if (node := snapshot.get(name)) is not None]
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        diagnosis.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    if not nodes:
        return
    start %= len(nodes)
    in_turn = [*nodes[start:], *nodes[:start]]
    wanted = nodes_to_find(len(nodes), percentage) if framework.has_choice else 1
    passing = _passing if names is None else _passing_of_few
    yield passing(framework, state, pod, in_turn, diagnosis, wanted)


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
    nodes: list[NodeInfo],
    diagnosis: Diagnosis,
    wanted: int,
) -> list[NodeInfo] | Status:
    """The loop everything else makes room for: as many nodes at once as are still wanted."""
    found: list[NodeInfo] = []
    first = 0
    while first < len(nodes) and len(found) < wanted:
        some = nodes[first : first + max(wanted - len(found), MIN_NODES_AT_ONCE)]
        first += len(some)
        statuses = framework.filter_all(state, pod, some)
        if not framework.nominator.is_empty:
            statuses = _with_nominated(framework, state, pod, some, statuses)
        if not any(statuses):
            found = found + some[: wanted - len(found)] if found or len(some) > wanted else some
            continue
        noted: Status | None = None  # most refusals are one of a few constants: look at each of them once
        for node, status in zip(some, statuses, strict=True):
            if status is None:
                found.append(node)
                if len(found) >= wanted:
                    break
                continue
            if status is not noted:
                noted = status
                if not status.is_rejected:
                    return status
                diagnosis.note(status)
            diagnosis.node_statuses[node.name] = status
    return found


def _passing_of_few(
    framework: Framework, state: CycleState, pod: PodInfo, nodes: list[NodeInfo], diagnosis: Diagnosis, wanted: int
) -> list[NodeInfo] | Status:
    """The same where it is no use to keep the answers: the pod looks at these nodes alone."""
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


def _with_nominated(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    statuses: Sequence[Status | None],
) -> list[Status | None]:
    """The pods that are promised a node count there too."""
    return [
        framework.filter_with_nominated(state, pod, node) if framework.nominator.has_promised(node.name) else status
        for node, status in zip(nodes, statuses, strict=True)
    ]


def best_of(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    diagnosis: Diagnosis,
    rng: Random,
    *,
    others: Mapping[str, list[int]] = NO_SCORES,
    explain: bool = False,
) -> Decision:
    """The node with the highest sum of scores; among equals, chance decides. `others`: beside those of plugins."""
    evaluated = len(nodes) + len(diagnosis.node_statuses)
    if len(nodes) == 1 and not explain:
        return Decision(diagnosis, nodes[0].name, feasible_nodes=1, evaluated_nodes=evaluated)
    scores = framework.score(state, pod, nodes)
    if isinstance(scores, Status):
        return Decision(diagnosis, status=scores)
    scores.update(others)
    # One that likes all nodes the same changes nothing.
    telling = [of_plugin for of_plugin in scores.values() if of_plugin.count(of_plugin[0]) < len(nodes)]
    totals = reduce(_sums, telling) if telling else [0] * len(nodes)
    best = max(totals)
    position = -1
    for _ in range(rng.randrange(totals.count(best)) + 1):
        position = totals.index(best, position + 1)
    winner = nodes[position].name
    if explain:
        for position, node in enumerate(nodes):
            diagnosis.scores[node.name] = {plugin: of_nodes[position] for plugin, of_nodes in scores.items()}
    return Decision(diagnosis, winner, feasible_nodes=len(nodes), evaluated_nodes=evaluated)


def _sums(scores: list[int], others: list[int]) -> list[int]:
    return list(map(add, scores, others))


def no_node(diagnosis: Diagnosis, nomination: Nomination | None, status: Status | None) -> Decision:
    """No node fits; the rest is what PostFilter says of making room."""
    diagnosis.post_filter_message = status.message if status is not None else ""
    evaluated = len(diagnosis.node_statuses)
    return Decision(diagnosis, "", Status(Code.UNSCHEDULABLE), nomination, evaluated_nodes=evaluated)
