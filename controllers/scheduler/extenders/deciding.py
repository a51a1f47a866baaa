"""schedule_one where HTTP extenders have a say: the same steps, with their answers waited for in between.

The snapshot stays as it is meanwhile; what plugins read of other kinds may change, as it does in kube-scheduler.
"""

from __future__ import annotations

from random import Random

from controllers.scheduler.diagnosis import Decision, Diagnosis
from controllers.scheduler.framework import REASONS_BEFORE, Framework
from controllers.scheduler.interface import CycleState, Nomination
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.preemption import pick_one
from controllers.scheduler.schedule import NO_NODES, best_of, no_node, searches
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status, unschedulable


async def schedule_with_extenders(
    framework: Framework,
    pod: PodInfo,
    snapshot: Snapshot,
    rng: Random,
    *,
    state: CycleState,
    start: int = 0,
    percentage: int = 0,
) -> Decision:
    """Where the pod should go, or why it cannot; the parameters are those of schedule_one."""
    diagnosis = Diagnosis(total_nodes=len(snapshot.nodes))
    if not snapshot.nodes:
        return Decision(diagnosis, status=NO_NODES)
    feasible = await _find_feasible(framework, state, pod, diagnosis, start, percentage)
    if isinstance(feasible, Status):
        return Decision(diagnosis, status=feasible)
    if not feasible:
        nomination, status = framework.post_filter(state, pod, diagnosis.node_statuses, diagnosis.absent)
        if nomination is not None and nomination.candidates:
            nomination, status = await _agreed(framework, state, pod, nomination)
        return no_node(diagnosis, nomination, status)
    scores = await framework.extenders.scores(pod, feasible) if len(feasible) > 1 else {}
    return best_of(framework, state, pod, feasible, diagnosis, rng, others=scores)


async def _find_feasible(
    framework: Framework, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, start: int, percentage: int
) -> list[NodeInfo] | Status:
    for found in searches(framework, state, pod, diagnosis, start, percentage):
        if isinstance(found, Status):
            return found
        passing = await framework.extenders.filter(pod, found, diagnosis)
        if passing:
            return passing
    return []


async def _agreed(
    framework: Framework, state: CycleState, pod: PodInfo, nomination: Nomination
) -> tuple[Nomination | None, Status | None]:
    """The best of the candidates that the extenders agree to."""
    candidates = await framework.extenders.preempt(pod, nomination.candidates, state.snapshot)
    if isinstance(candidates, Status):
        return None, Status(candidates.code, (f"preemption: {candidates.message}",))
    if not candidates:
        return None, unschedulable(*state[REASONS_BEFORE], "preemption: no candidate node for preemption")
    best = pick_one(candidates)
    return Nomination(best.node_name, best.victims), None
