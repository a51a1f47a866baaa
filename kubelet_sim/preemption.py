"""Which pods make room on a node for one that the cluster cannot do without. Pure.

Semantics: pkg/kubelet/preemption/preemption.go (v1.36): as few guaranteed pods as possible, then as few burstable ones,
then as few of best effort; of each kind those first that fill most of what is missing, and of those the smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubelet_sim.eviction import is_critical
from kubelet_sim.state import Verdict
from kubeloop.apimachinery.meta import ReadOnlyObject

PREEMPTED = Verdict(
    "Preempting",
    "Preempted in order to admit critical pod",
    disruption="Pod was preempted by Kubelet to accommodate a critical pod.",
)
_QUALITIES = ("BestEffort", "Burstable", "Guaranteed")

Amounts = Mapping[str, int]  # by resource
Candidate = tuple[ReadOnlyObject, Amounts]  # a pod and what it takes of its node


class NothingToReclaim(Exception):
    """No pods could make room; the text says for what."""


def victims(pod: ReadOnlyObject, others: Iterable[Candidate], missing: Amounts) -> list[ReadOnlyObject]:
    """Of `others` on the node those that have to go for `pod`, which misses so much. Raises NothingToReclaim."""
    weaker = [one for one in others if _is_preemptable(pod, one[0])]
    best_effort, burstable, guaranteed = ([one for one in weaker if _quality(one[0]) == of] for of in _QUALITIES)
    if left := _without(missing, [*best_effort, *burstable, *guaranteed]):
        raise NothingToReclaim(f"no set of running pods found to reclaim resources: {_spelled(left)}")
    first = _nearest(guaranteed, _without(missing, [*best_effort, *burstable]))
    second = _nearest(burstable, _without(missing, [*best_effort, *first]))
    third = _nearest(best_effort, _without(missing, [*second, *first]))
    return [found for found, _ in (*third, *second, *first)]


def _nearest(candidates: Sequence[Candidate], missing: Amounts) -> list[Candidate]:
    """Enough of them, one after the other."""
    left, found = list(candidates), list[Candidate]()
    while missing:
        best = min(left, key=lambda one: (_distance(missing, one[1]), one[1].get("memory", 0), one[1].get("cpu", 0)))
        left.remove(best)
        found.append(best)
        missing = _without(missing, [best])
    return found


def _distance(missing: Amounts, amounts: Amounts) -> float:
    """Every resource counts alike, by the share that would still be missing."""
    shares = (max(number - amounts.get(name, 0), 0) / number for name, number in missing.items())
    return sum(share**2 for share in shares)


def _without(missing: Amounts, candidates: Iterable[Candidate]) -> dict[str, int]:
    """What would be missing still if they went."""
    freed = [amounts for _, amounts in candidates]
    left = {name: number - sum(one.get(name, 0) for one in freed) for name, number in missing.items()}
    return {name: number for name, number in left.items() if number > 0}


def _is_preemptable(pod: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    if is_critical(pod) and not is_critical(other):
        return True
    return bool((pod["spec"].get("priority") or 0) > (other["spec"].get("priority") or 0))


def _quality(pod: ReadOnlyObject) -> str:
    return (pod.get("status") or {}).get("qosClass") or ""


def _spelled(missing: Amounts) -> str:
    """As Go's kubelet does it."""
    return "[" + "".join(f"(res: {name}, q: {number}), " for name, number in missing.items()) + "]"
