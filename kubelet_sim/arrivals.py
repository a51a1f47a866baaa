"""Whether a node takes a pod that is new to it, and what it does for one that it must take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubelet_sim import admission, preemption
from kubelet_sim.admission import Ledger
from kubelet_sim.eviction import is_critical
from kubelet_sim.preemption import PREEMPTED, NothingToReclaim
from kubelet_sim.pressure import Pressures
from kubelet_sim.state import Verdict
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of, uid_of
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer


@dataclass(frozen=True, slots=True)
class Decision:
    """The pod is taken where neither is set. `is_waiting`: other pods have been told to go for it; ask again."""

    objection: Verdict | None = None
    is_waiting: bool = False


class Arrivals:
    """`end` is told of pods that have to go. `is_played`: whether a pod has another life, in which nobody ends it."""

    def __init__(
        self,
        api: Api,
        pods: Informer,
        nodes: Informer,
        ledger: Ledger,
        pressures: Pressures,
        end: Callable[[ObjectKey], None],
        is_played: Callable[[ReadOnlyObject], bool],
    ) -> None:
        self._api, self._pods, self._nodes = api, pods, nodes
        self._ledger, self._pressures = ledger, pressures
        self._end, self._is_played = end, is_played

    async def decide(self, pod: ReadOnlyObject) -> Decision:
        """An objection is for good: so a node that objects by what was heard of it is asked for. A scheduler may know
        it better.
        """
        name = pod["spec"]["nodeName"]
        decision = self._decide(pod, self._nodes.get(ObjectKey("", name)) or {})
        if decision.objection is None:
            return decision
        try:
            return self._decide(pod, await self._api.get(NODES, name))
        except NotFound:
            return decision

    def _decide(self, pod: ReadOnlyObject, node: Mapping[str, Any]) -> Decision:
        name = pod["spec"]["nodeName"]
        used, ports = self._ledger.used(name), self._ledger.ports(name)
        found = admission.objections(pod, node, used, ports, self._pressures.on(name))
        if not is_critical(pod) or not found:
            return Decision(found[0].verdict if found else None)
        others = [one for one in found if one.missing is None]
        return Decision(others[0].verdict) if others else self._make_room(pod, found)

    def _make_room(self, pod: ReadOnlyObject, shortages: list[admission.Objection]) -> Decision:
        """A pod that the cluster cannot do without is not rejected for want of room."""
        missing = dict(one.missing for one in shortages if one.missing)
        others = [
            (other, amounts)
            for other in self._pods.by_index("spec.nodeName", pod["spec"]["nodeName"])
            if (amounts := self._ledger.amounts(uid_of(other))) and not self._is_played(other)
        ]
        try:
            victims = preemption.victims(pod, others, missing)
        except NothingToReclaim as why:
            text = f"preemption: error finding a set of pods to preempt: {why}"
            message = f"Unexpected error while attempting to recover from admission failure: {text}"
            return Decision(Verdict("UnexpectedAdmissionError", message))
        for victim in victims:
            if self._pressures.sentence(uid_of(victim)) is None:
                self._pressures.pronounce(uid_of(victim), PREEMPTED)
                self._end(key_of(victim))
        return Decision(is_waiting=True)
