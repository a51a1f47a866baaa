"""Which pods give way to a new template, and which nodes get a second one meanwhile. Pure.

Without surge old pods are deleted and the nodes' lack is made good by the next plan; with it, the new pod comes first
and the old one goes when that is available. Pods that are not available give way at once.
rollingUpdate of pkg/controller/daemon/update.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from controllers.daemon_set.model import Situation
from controllers.daemon_set.plan import Changes
from kubeloop.apimachinery.meta import Object, is_being_deleted


class _Pair(NamedTuple):
    """What a node has of the old and of the new template; more than one of either is for the next plan to tidy up."""

    node: str
    old: Object | None
    new: Object | None
    is_tidy: bool = True


def plan(situation: Situation) -> Changes:
    max_surge, max_unavailable = situation.spec.limits(situation.desired)
    pairs = list(_pairs(situation))
    if max_surge == 0:
        return _replacing(situation, pairs, max_unavailable)
    return _surging(situation, pairs, max_surge)


def _pairs(situation: Situation) -> Iterator[_Pair]:
    """Of the nodes where a pod should run, and of those that have one."""
    wanted = [node for node, placement in situation.placements.items() if placement.should_run]
    for node in dict.fromkeys([*wanted, *situation.pods_by_node]):
        staying = [pod for pod in situation.on(node) if not is_being_deleted(pod)]
        new = [pod for pod in staying if situation.is_updated(pod)]
        old = [pod for pod in staying if not situation.is_updated(pod)]
        if len(new) > 1 or len(old) > 1:
            yield _Pair(node, None, None, is_tidy=False)
        else:
            yield _Pair(node, old[0] if old else None, new[0] if new else None)


def _replacing(situation: Situation, pairs: list[_Pair], max_unavailable: int) -> Changes:
    """Only nodes that have nothing but an available old pod have to wait until fewer are without."""
    waiting = [pair.old for pair in pairs if pair.old and not pair.new and situation.is_available(pair.old)]
    broken = [pair.old for pair in pairs if pair.old and not pair.new and not situation.is_available(pair.old)]
    updated = [pair.new for pair in pairs if pair.new and not pair.old and situation.is_available(pair.new)]
    unavailable = len(pairs) - len(waiting) - len(updated)
    spare = max(max_unavailable - unavailable, 0)
    return Changes(delete=(*broken, *waiting[:spare]))


def _surging(situation: Situation, pairs: list[_Pair], max_surge: int) -> Changes:
    """Available pods on nodes where none should run any more go only as others elsewhere have come for them."""
    lone = [(pair.node, pair.old) for pair in pairs if pair.old and not pair.new]
    overtaken = [pair.old for pair in pairs if pair.old and pair.new and situation.is_available(pair.new)]
    surging = [pair for pair in pairs if pair.old and pair.new and not situation.is_available(pair.new)]
    surge = len(surging) + sum(not pair.is_tidy for pair in pairs)

    broken = [(node, pod) for node, pod in lone if not situation.is_available(pod)]
    urgent = [node for node, _ in broken if situation.placement(node).should_run]
    useless = [pod for node, pod in broken if not situation.placement(node).should_run]

    well = [(node, pod) for node, pod in lone if situation.is_available(pod)]
    candidates = [node for node, _ in well if situation.placement(node).should_run]
    misplaced = [pod for node, pod in well if not situation.placement(node).should_run]

    available = sum(situation.is_available(pod) for pair in pairs if (pod := pair.old or pair.new))
    spare = max(available - situation.desired, 0)
    return Changes(
        create=(*urgent, *candidates[: max(max_surge - surge, 0)]),
        delete=(*overtaken, *useless, *misplaced[:spare]),
    )
