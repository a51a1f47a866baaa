"""One extender: what it is asked, and how its answers are read.

Field names are those of k8s.io/kube-scheduler/extender/v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllers.scheduler.extenders.answer import Answer, answers
from controllers.scheduler.extenders.calls import Caller, ExtenderFailed
from controllers.scheduler.extenders.settings import ExtenderSettings
from controllers.scheduler.interface import MAX_NODE_SCORE, Candidate
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status, unresolvable, unschedulable
from kubeloop.apimachinery.field import go_quote

MAX_SCORE = 10  # of an extender


@dataclass(frozen=True, slots=True)
class Filtered:
    """The nodes that are left, and what speaks against others, by name."""

    nodes: list[NodeInfo]
    refused: Mapping[str, Status] = field(default_factory=dict)


class Extender:
    """All methods that ask raise ExtenderFailed."""

    def __init__(self, settings: ExtenderSettings, call: Caller) -> None:
        self.settings, self._call = settings, call

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the pod asks for one of its resources; where it has none of its own, every pod is its affair."""
        managed = self.settings.managed_resources
        return not managed or any(
            name in managed
            for containers in (pod.spec.get("containers"), pod.spec.get("initContainers"))
            for container in containers or ()
            for part in ("requests", "limits")
            for name in (container.get("resources") or {}).get(part) or ()
        )

    async def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Filtered:
        answer = Answer(await self._call(self.settings.filter_verb, self._question(pod, nodes)), "ExtenderFilterResult")
        _refuse_error(answer)
        names = answer.texts("NodeNames") if self.settings.knows_nodes else None
        if names is None:
            listed = answer.inner("Nodes", "NodeList").inners("items", "Node")
            names = [node.inner("metadata", "ObjectMeta").text("name") for node in listed]
        known = {node.name: node for node in nodes}
        for name in names:
            if name not in known:
                claimed = f"claims a filtered node {go_quote(name)} which is not found in the input node list"
                raise ExtenderFailed(f"extender {go_quote(self.settings.url)} {claimed}")
        refused = {name: unschedulable(why) for name, why in answer.texts_by_name("FailedNodes").items()}
        for name, why in answer.texts_by_name("FailedAndUnresolvableNodes").items():
            refused[name] = unresolvable(why)
        return Filtered([known[name] for name in names], refused)

    async def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Points by node, as they count beside those of plugins."""
        answer = await self._call(self.settings.prioritize_verb, self._question(pod, nodes))
        worth = self.settings.weight * (MAX_NODE_SCORE // MAX_SCORE)
        return {one.text("Host"): one.number("Score") * worth for one in answers(answer, "HostPriority")}

    async def preempt(self, pod: PodInfo, candidates: Sequence[Candidate], snapshot: Snapshot) -> list[Candidate]:
        """Those that it agrees to, with the victims it wants."""
        meta = self.settings.knows_nodes
        by_node = {
            one.node_name: {
                "Pods": [{"UID": victim.uid} if meta else victim.pod for victim in one.victims],
                "NumPDBViolations": one.budget_violations,
            }
            for one in candidates
        }
        question = {
            "Pod": pod.pod,
            "NodeNameToVictims": None if meta else by_node,
            "NodeNameToMetaVictims": by_node if meta else None,
        }
        answer = Answer(await self._call(self.settings.preempt_verb, question), "ExtenderPreemptionResult")
        agreed = answer.inner_by_name("NodeNameToMetaVictims", "MetaVictims")
        return [self._candidate(name, victims, snapshot) for name, victims in agreed.items()]

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        question = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        _refuse_error(Answer(await self._call(self.settings.bind_verb, question), "ExtenderBindingResult"))

    def _question(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Mapping[str, Any]:
        if self.settings.knows_nodes:
            return {"Pod": pod.pod, "Nodes": None, "NodeNames": [node.name for node in nodes]}
        return {"Pod": pod.pod, "Nodes": {"metadata": {}, "items": [node.node for node in nodes]}, "NodeNames": None}

    def _candidate(self, node_name: str, victims: Answer, snapshot: Snapshot) -> Candidate:
        node = snapshot.get(node_name)
        if node is None:
            raise ExtenderFailed(f"nodeinfo not found for node name {go_quote(node_name)}")
        uids = [pod.text("UID") for pod in victims.inners("Pods", "MetaPod")]
        for uid in uids:
            if uid not in node.pods:
                claimed = f"claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}"
                raise ExtenderFailed(f"extender: {self.settings.url} {claimed}, but the pod is not found on that node")
        return Candidate(node_name, tuple(node.pods[uid] for uid in uids), victims.number("NumPDBViolations"))


def _refuse_error(answer: Answer) -> None:
    if why := answer.text("Error"):
        raise ExtenderFailed(why)
