"""The smallest change that lets a stuck pod fit: proposals of the plugins that refuse, tried out on a copy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from random import Random

from controllers.scheduler.interface import CycleState
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.schedule import schedule_one
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status
from controllers.scheduler.why.changes import Change
from controllers.scheduler.why.cluster import Situation
from controllers.scheduler.why.refusals import refusals
from controllers.scheduler.why.remedies import REMEDIES
from kubeloop.apimachinery.meta import deep_copy

MAX_SHOWN = 3
MAX_TRIALS = 200  # of the cheapest combinations; with thousands of nodes most say the same
MAX_COMBINATIONS = 64  # of one node's proposals


@dataclass(frozen=True, slots=True)
class Remedy:
    """All of `changes` together let the pod fit on `node_name`."""

    node_name: str
    changes: Sequence[Change]

    @property
    def rank(self) -> tuple[int, float]:
        return len(self.changes), sum(change.cost for change in self.changes)

    @property
    def text(self) -> str:
        return " and ".join(change.text for change in self.changes)


def smallest(situation: Situation, against: Mapping[str, Sequence[Status]], rng: Random) -> Sequence[Remedy]:
    """The smallest first, and some others of as many changes; none where nothing that is known here helps.

    `against`: what speaks against each node now.
    """
    gates = _without_gates(situation.pod)
    if not against:
        return [Remedy("", [*gates, Change("add a node", 5, "kubeloop scale nodes 1")])]
    found, further = _tried(
        situation,
        [remedy for name, refused in against.items() for remedy in _of_node(situation, name, refused, gates)],
    )
    if not found:
        found, _ = _tried(situation, further)
    if len(found) == MAX_SHOWN:
        return found
    more_important = _by_priority(situation, gates, rng)
    return [*found, more_important] if more_important is not None else found


def _tried(situation: Situation, candidates: Sequence[Remedy]) -> tuple[list[Remedy], list[Remedy]]:
    """The smallest that help, and some others of as many changes; and what else to try: more changes for those with
    which the pod is let through to the nodes, some of which then refuse it."""
    found: list[Remedy] = []
    further: list[Remedy] = []
    said: set[str] = set()
    for remedy in sorted(candidates, key=lambda remedy: remedy.rank)[:MAX_TRIALS]:
        if found and len(remedy.changes) > len(found[0].changes):
            break
        if remedy.text in said:
            continue
        left = _left(situation, remedy)
        if not left:
            found.append(remedy)
            said.add(remedy.text)
            if len(found) == MAX_SHOWN:
                break
        elif any(change.extra for change in remedy.changes):
            further += _of_node(situation, remedy.node_name, left, remedy.changes)
    return found, further


def _of_node(situation: Situation, name: str, refused: Sequence[Status], first: Sequence[Change]) -> Iterator[Remedy]:
    """After the changes `first`, one proposal for each plugin that refuses, in every combination."""
    node = situation.snapshot.get(name)
    assert node is not None
    proposals: list[Sequence[Change]] = []
    plugins = {plugin.NAME: plugin for plugin in situation.framework.plugins}
    for name_of_plugin in dict.fromkeys(status.plugin for status in refused):
        known = REMEDIES.get(name_of_plugin)
        of_plugin = known(plugins[name_of_plugin], situation.pod, node) if known is not None else ()
        if not of_plugin:
            return
        proposals.append(of_plugin)
    for _, combination in zip(range(MAX_COMBINATIONS), product(*proposals), strict=False):
        distinct = {change.text: change for change in combination}  # two plugins may ask for the same
        changes = [*first, *distinct.values()]
        if changes:
            yield Remedy(name, changes)


def _left(situation: Situation, remedy: Remedy) -> Sequence[Status]:
    """What still speaks against the node, or keeps the pod from being tried; nothing where the remedy helps."""
    pod, node = _changed(situation, remedy)
    others = [other if other.name != node.name else node for other in situation.snapshot.nodes]
    with ExitStack() as there:
        for resource, obj in (extra for change in remedy.changes for extra in change.extra):
            there.enter_context(situation.listings[resource].also(obj))
        against = refusals(situation.framework, pod, Snapshot(others), [node.name])
        return [*against[node.name], *_gates(situation, pod)]


def _changed(situation: Situation, remedy: Remedy) -> tuple[PodInfo, NodeInfo]:
    """The pod and the node as they would be."""
    node = situation.snapshot.get(remedy.node_name)
    assert node is not None
    changed_pod, changed_node = deep_copy(situation.pod.pod), deep_copy(node.node)
    gone: set[str] = set()
    for change in remedy.changes:
        if change.edit_pod is not None:
            change.edit_pod(changed_pod)
        if change.edit_node is not None:
            change.edit_node(changed_node)
        gone |= {other.uid for other in change.gone}
    info = NodeInfo(node.name)
    info.set_node(changed_node)
    for other in node.pods.values():
        if other.uid not in gone:
            info.add_pod(other)
    return PodInfo(changed_pod), info


def _without_gates(pod: PodInfo) -> Sequence[Change]:
    gates = [gate["name"] for gate in pod.spec.get("schedulingGates") or ()]
    if not gates:
        return ()
    text = f"remove the scheduling {'gate' if len(gates) == 1 else 'gates'} {', '.join(gates)}"
    return [Change(text, 1, edit_pod=lambda obj: obj["spec"].pop("schedulingGates") and None)]


def _gates(situation: Situation, pod: PodInfo) -> Sequence[Status]:
    answers = [plugin.pre_enqueue(pod) for plugin in situation.framework.hints.gates]
    return [status for status in answers if status is not None]


def _by_priority(situation: Situation, gates: Sequence[Change], rng: Random) -> Remedy | None:
    """The lowest priority with which preemption would make room."""
    pod, snapshot = situation.pod, situation.snapshot
    present = {other.priority for node in snapshot.nodes for other in node.pods.values()}
    for priority in sorted({p + 1 for p in present if p >= pod.priority}):
        raised = deep_copy(pod.pod)
        raised["spec"]["priority"] = priority
        decision = schedule_one(
            situation.framework, PodInfo(raised), snapshot, rng, state=CycleState(snapshot), explain=True
        )
        if decision.nomination is not None and decision.nomination.node_name:
            victims = ", ".join(str(victim.key) for victim in decision.nomination.victims)
            text = f"give the pod a priority of {priority} or more: it would take the place of {victims}"
            return Remedy(decision.nomination.node_name, [*gates, Change(text, 8)])
    return None
