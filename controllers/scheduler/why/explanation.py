"""What every plugin says of every node, and which node wins. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from controllers.scheduler.interface import Nomination
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.schedule import nodes_to_find, schedule_one
from controllers.scheduler.status import Status
from controllers.scheduler.why.cluster import Situation
from controllers.scheduler.why.last_word import contradiction, promise
from controllers.scheduler.why.refusals import refusals
from controllers.scheduler.why.search import Remedy, smallest


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Of one node: everything that speaks against it, or else its weighted score by plugin."""

    name: str
    refusals: Sequence[Status] = ()
    scores: Mapping[str, int] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        return not self.refusals

    @property
    def total(self) -> int:
        return sum(self.scores.values())


@dataclass(frozen=True, slots=True)
class Explanation:
    """`message` is what the FailedScheduling event says; `gates` keep the pod from being tried at all.

    `nomination`: whom preemption would remove. `remedies`: each would let the pod fit, the smallest first.
    `contradiction`: what the scheduler itself said of it last, where that is something else. `promise`: what it has
    promised the pod. `enough`: how many nodes that fit the scheduler is content with. `unasked`: HTTP extenders
    that have a say, too.
    """

    pod: PodInfo
    placed_on: str
    nodes: Sequence[NodeVerdict]
    message: str = ""
    gates: Sequence[Status] = ()
    nomination: Nomination | None = None
    remedies: Sequence[Remedy] = ()
    contradiction: str = ""
    promise: str = ""
    enough: int = 0
    unasked: Sequence[str] = ()

    @property
    def ranking(self) -> Sequence[NodeVerdict]:
        """The nodes that fit, best first; of those with the highest total chance takes one."""
        return sorted((node for node in self.nodes if node.fits), key=lambda node: -node.total)

    @property
    def winners(self) -> Sequence[NodeVerdict]:
        ranking = self.ranking
        return [node for node in ranking if node.total == ranking[0].total]

    @property
    def is_stuck(self) -> bool:
        return bool(self.gates) or not self.ranking


def explain(situation: Situation, rng: Random) -> Explanation:
    framework, pod, snapshot = situation.framework, situation.pod, situation.snapshot
    gates = [status for plugin in framework.hints.gates if (status := plugin.pre_enqueue(pod)) is not None]
    decision = schedule_one(framework, pod, snapshot, rng, explain=True)
    against = refusals(framework, pod, snapshot, [node.name for node in snapshot.nodes])
    scores = decision.diagnosis.scores
    nodes = [NodeVerdict(name, refused, scores.get(name, {})) for name, refused in against.items()]
    is_stuck = bool(gates) or not decision.node_name
    message = "" if decision.node_name else decision.message
    is_told_by_itself = bool(situation.placed_on or gates)
    unasked = framework.extenders.of_interest(pod)
    return Explanation(
        pod,
        situation.placed_on,
        nodes,
        message,
        gates,
        decision.nomination if decision.nomination and decision.nomination.node_name else None,
        smallest(situation, against, rng) if is_stuck else (),
        "" if is_told_by_itself else contradiction(pod, is_stuck, message, bool(unasked)),
        promise(pod, is_stuck, _going(situation)),
        nodes_to_find(len(snapshot.nodes), situation.percentage),
        unasked,
    )


def _going(situation: Situation) -> Sequence[PodInfo]:
    """The pods that are being deleted on the node that the pod is promised."""
    node = situation.snapshot.get(situation.pod.nominated_node_name)
    return () if node is None else [other for other in node.pods.values() if other.is_being_deleted]
