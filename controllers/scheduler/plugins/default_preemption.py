"""DefaultPreemption: no node fits, so see whether less important pods could make way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.events import DELETE, POD, ClusterEvent, Hint, RegisteredEvent
from controllers.scheduler.interface import CycleState, Handle, Nomination, PostFilterPlugin, PreEnqueuePlugin
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.preemption import NOT_HELPFUL, find_candidates, ineligibility, pick_one
from controllers.scheduler.status import Code, Status, failed, unresolvable, unschedulable
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import POD_DISRUPTION_BUDGETS


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Decides only; the scheduler removes the victims (preemption_executor) and keeps the pod back until it has.

    Arguments: `minCandidateNodesPercentage` (10) and `minCandidateNodesAbsolute` (100): how many nodes are enough to
    choose from, whichever is more.
    """

    NAME = "DefaultPreemption"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._budgets = handle.lister(POD_DISRUPTION_BUDGETS)
        self._percentage: int = handle.args.get("minCandidateNodesPercentage", 10)
        self._absolute: int = handle.args.get("minCandidateNodesAbsolute", 100)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if pod.uid in self.handle.preempting:
            return unresolvable("waiting for the preemption for this pod to be finished").of(self.NAME)
        return None

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        snapshot = state.snapshot
        promised = pod.nominated_node_name
        why_not = ineligibility(pod, node_statuses.get(promised, absent), snapshot.get(promised) if promised else None)
        if why_not:
            return None, unschedulable(f"preemption: {why_not}")
        hopeful = [node for node in snapshot.nodes if node_statuses.get(node.name, absent).code is Code.UNSCHEDULABLE]
        filtering = self.handle.filtering()
        wanted = min(max(len(hopeful) * self._percentage // 100, self._absolute), len(hopeful))
        candidates, statuses = (
            find_candidates(filtering, state, pod, hopeful, self._budgets.list(), self.handle.rng, wanted)
            if hopeful
            else ([], {})
        )
        if candidates:
            best = pick_one(candidates)
            return Nomination(best.node_name, best.victims, candidates), None
        if any(not status.is_rejected for status in statuses.values()):
            return None, failed(f"preemption: {next(s.message for s in statuses.values() if not s.is_rejected)}")
        outcome = Diagnosis(len(snapshot.nodes), statuses, NOT_HELPFUL)
        return Nomination(""), unschedulable(f"preemption: {outcome.message}")

    def events(self) -> Sequence[RegisteredEvent]:
        """A deletion must reach a pod that waits for its victims, though by itself it is no reason to try again."""
        return (RegisteredEvent(ClusterEvent(POD, DELETE), _never),)


def _never(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    return Hint.SKIP
