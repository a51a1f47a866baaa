"""Preemption: which pods would have to go so that a more important one can run. Pure: nothing is removed here.

Each node where removing pods could help is tried out on a copy: all less important pods go, and if the pod then fits,
as many as possible come back, those guarded by a disruption budget first. Among the nodes that work, the one that hurts
least wins. Follows pkg/scheduler/framework/preemption and plugins/defaultpreemption (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from controllers.scheduler.affinity_terms import selector_or_nothing
from controllers.scheduler.interface import Candidate, CycleState, Filtering
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Code, Status, failed
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, namespace_of

NO_VICTIMS = Status(Code.UNRESOLVABLE, ("No preemption victims found for incoming pod",))
NOT_HELPFUL = Status(Code.UNRESOLVABLE, ("Preemption is not helpful for scheduling",))
BY_SCHEDULER = "PreemptionByScheduler"
DISRUPTION_TARGET = "DisruptionTarget"
_LAST = "~"  # sorts after every RFC 3339 time: a pod that has not started yet is the youngest


def find_candidates(
    filtering: Filtering,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    budgets: Sequence[Object],
    rng: Random,
    wanted: int,
) -> tuple[list[Candidate], dict[str, Status]]:
    """`wanted` nodes that would do (not all, in a large cluster), and why each of the others looked at would not."""
    start = rng.randrange(len(nodes))
    good: list[Candidate] = []
    violating: list[Candidate] = []
    statuses: dict[str, Status] = {}
    for node in (*nodes[start:], *nodes[:start]):
        found = select_victims(filtering, state.clone(), pod, node.copy(), budgets)
        if isinstance(found, Status):
            statuses[node.name] = found
            continue
        (violating if found.budget_violations else good).append(found)
        if good and len(good) + len(violating) >= wanted:
            break
    return good + violating, statuses


def select_victims(
    filtering: Filtering, state: CycleState, pod: PodInfo, node: NodeInfo, budgets: Sequence[Object]
) -> Candidate | Status:
    """The fewest, least important pods of this node that have to go. `state` and `node` are the caller's copies."""
    potential = [other for other in node.pods.values() if other.priority < pod.priority]
    if not potential:
        return NO_VICTIMS
    for other in potential:
        filtering.remove_pod(state, pod, other, node)
    refusal = filtering.filter_with_nominated(state, pod, node)
    if refusal is not None:
        return refusal
    potential.sort(key=importance)
    guarded, free = split_by_budgets(potential, budgets)
    victims: list[PodInfo] = []
    violations = 0
    for other in (*guarded, *free):
        filtering.add_pod(state, pod, other, node)
        if filtering.filter_with_nominated(state, pod, node) is not None:
            filtering.remove_pod(state, pod, other, node)
            victims.append(other)
            violations += other in guarded
    if not victims:
        return failed(f'expected at least one victim pod on node "{node.name}"')
    return Candidate(node.name, tuple(sorted(victims, key=importance)), violations)


def split_by_budgets(pods: Sequence[PodInfo], budgets: Sequence[Object]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Those whose removal would break a PodDisruptionBudget if all went in this order, and the others."""
    allowed = [(budget.get("status") or {}).get("disruptionsAllowed", 0) for budget in budgets]
    selectors = [selector_or_nothing((budget.get("spec") or {}).get("selector")) for budget in budgets]
    guarded: list[PodInfo] = []
    free: list[PodInfo] = []
    for pod in pods:
        is_guarded = False
        for i, budget in enumerate(budgets):
            if namespace_of(budget) != pod.namespace or not pod.labels:
                continue
            if selectors[i].is_empty or not selectors[i].matches(pod.labels):
                continue
            if pod.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue  # its eviction is counted already
            allowed[i] -= 1
            is_guarded = is_guarded or allowed[i] < 0
        (guarded if is_guarded else free).append(pod)
    return guarded, free


def pick_one(candidates: Sequence[Candidate]) -> Candidate:
    """Fewest broken budgets, then the least important top victim, the lowest sum of priorities, the fewest victims,
    the youngest top victims; at last the first."""
    rules: Sequence[Callable[[Candidate], object]] = (
        lambda c: -c.budget_violations,
        lambda c: -c.victims[0].priority,
        lambda c: -sum(victim.priority + 2**31 for victim in c.victims),
        lambda c: -len(c.victims),
        lambda c: min(start_time(v) for v in c.victims if v.priority == c.victims[0].priority),
    )
    remaining = list(candidates)
    for rule in rules:
        rated = [(rule(candidate), candidate) for candidate in remaining]
        best = max(rating for rating, _ in rated)  # type: ignore[type-var]
        remaining = [candidate for rating, candidate in rated if rating == best]
        if len(remaining) == 1:
            break
    return remaining[0]


def ineligibility(pod: PodInfo, nominated_status: Status | None, nominated: NodeInfo | None) -> str:
    """Why the pod may not preempt others, or "" if it may."""
    if pod.spec.get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    if nominated is None or (nominated_status is not None and nominated_status.code is Code.UNRESOLVABLE):
        return ""
    if any(other.priority < pod.priority and is_going_by_preemption(other) for other in nominated.pods.values()):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def is_going_by_preemption(pod: PodInfo) -> bool:
    if not pod.is_being_deleted:
        return False
    condition: Mapping[str, object] | None = get_condition(conditions_of(pod.pod), DISRUPTION_TARGET)
    return condition is not None and condition.get("status") == "True" and condition.get("reason") == BY_SCHEDULER


def importance(pod: PodInfo) -> tuple[int, str]:
    """Smallest first: higher priority, then longer running."""
    return (-pod.priority, start_time(pod))


def start_time(pod: PodInfo) -> str:
    return (pod.pod.get("status") or {}).get("startTime") or _LAST
