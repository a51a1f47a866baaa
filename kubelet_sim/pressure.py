"""The memory and the local storage of the nodes: what is short shows as a condition, and pods are evicted for it.

A node is looked at while a pod on it, or a fault, says what is used (consumption.py), every ten seconds as a kubelet
does. One pod goes at a time, and the next when it is gone. The pods' own reconciler carries the sentences out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from kubelet_sim import consumption, eviction
from kubelet_sim.faults.registry import Faults
from kubelet_sim.nodes import Recorders
from kubelet_sim.phase import TERMINAL
from kubelet_sim.state import Verdict
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of, name_of, uid_of
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import DONE, RequeueAfter, Result

LOOK_SECONDS = 10.0  # monitoringInterval
_CLEANUP_SECONDS = 1.0  # podCleanupPollFreq
_TRANSITION = timedelta(minutes=5)  # evictionPressureTransitionPeriod: a condition stays for so long


class Pressures:
    """What the nodes of this process are short of, and which pods have to go for it."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, datetime]] = {}  # node -> condition -> when it was last seen
        self._sentences: dict[str, Verdict] = {}  # by uid of the pod

    def on(self, node: str) -> Sequence[str]:
        """The conditions in force."""
        return list(self._seen.get(node, ()))

    def sentence(self, uid: str) -> Verdict | None:
        return self._sentences.get(uid)

    def pronounce(self, uid: str, verdict: Verdict) -> None:
        self._sentences[uid] = verdict

    def forget(self, uid: str) -> None:
        """The pod is over."""
        self._sentences.pop(uid, None)

    def note(self, node: str, seen: Sequence[str], now: datetime) -> bool:
        """What is seen at a look; whether other conditions are in force than before."""
        known = self._seen.get(node, {})
        current = dict.fromkeys(seen, now) | {
            one: at for one, at in known.items() if one not in seen and now - at < _TRANSITION
        }
        if current:
            self._seen[node] = {one: current[one] for one in sorted(current, reverse=True)}
        else:
            self._seen.pop(node, None)
        return set(known) != set(current)


class PressureReconciler:
    """One key a node. `report` is told of nodes whose conditions changed, `end` of pods that have to go."""

    def __init__(
        self,
        clock: Clock,
        pods: Informer,
        nodes: Informer,
        recorders: Recorders,
        pressures: Pressures,
        faults: Faults,
        is_own: Callable[[str], bool],
        report: Callable[[str], None],
        end: Callable[[ObjectKey], None],
    ) -> None:
        self._clock, self._pods, self._nodes, self._recorders = clock, pods, nodes, recorders
        self._pressures, self._faults = pressures, faults
        self._is_own, self._report, self._end = is_own, report, end
        pods.index_field("spec.nodeName")

    def keys(self, pod: ReadOnlyObject) -> tuple[ObjectKey, ...]:
        """The node of a pod of which is said what it uses."""
        node = pod["spec"]["nodeName"]
        is_said = self._is_own(node) and consumption.is_said(self._faults.as_used(pod))
        return (ObjectKey("", node),) if is_said else ()

    async def reconcile(self, key: ObjectKey) -> Result:
        node, now = self._nodes.get(key), self._clock.now()
        if node is None or not self._is_own(key.name):
            self._pressures.note(key.name, (), now)
            return DONE
        if self._faults.is_cut_off(key.name):
            return RequeueAfter(LOOK_SECONDS)
        here = self._pods.by_index("spec.nodeName", key.name)
        pods = [self._faults.as_used(pod) for pod in here if _is_active(pod)]
        is_watched = any(consumption.is_said(pod) for pod in pods)
        short = eviction.shortages(node, pods, now) if is_watched else []
        if self._pressures.note(key.name, [one.condition for one in short], now):
            self._report(key.name)
        if not is_watched and not self._pressures.on(key.name):
            return DONE
        is_waiting = await self._evict(node, pods, short, now) if is_watched else False
        return RequeueAfter(_CLEANUP_SECONDS if is_waiting else LOOK_SECONDS)

    async def _evict(
        self, node: ReadOnlyObject, pods: Sequence[ReadOnlyObject], short: Sequence[eviction.Shortage], now: datetime
    ) -> bool:
        """Whether there is a pod whose end is waited for."""
        if any(self._pressures.sentence(uid_of(pod)) for pod in pods):
            return True
        greedy = [(pod, verdict) for pod in pods if (verdict := eviction.over_limit(pod, now))]
        for pod, sentence in greedy:
            self._pronounce(pod, sentence)
        if greedy or not short:
            return bool(greedy)
        await self._tell(node, f"Attempting to reclaim {short[0].resource}")
        for victim in eviction.ranked(pods, short[0].resource, now)[:1]:
            self._pronounce(victim, eviction.verdict(victim, short[0], now))
        return True

    def _pronounce(self, pod: ReadOnlyObject, verdict: Verdict) -> None:
        self._pressures.pronounce(uid_of(pod), verdict)
        self._end(key_of(pod))

    async def _tell(self, node: ReadOnlyObject, message: str) -> None:
        name = name_of(node)
        about = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "uid": name}}
        await self._recorders(name).event(about, "Warning", "EvictionThresholdMet", message)


def _is_active(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") not in TERMINAL
