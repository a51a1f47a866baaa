"""One extender: what it is asked, and how its answers are read.

Field names are written as k8s.io/kube-scheduler/extender/v1 has them, and read in any case, as Go reads JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllers.scheduler.extenders.calls import Caller, ExtenderFailed
from controllers.scheduler.extenders.settings import ExtenderSettings
from controllers.scheduler.interface import Candidate
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
        answer = _object(
            await self._call(self.settings.filter_verb, self._question(pod, nodes)), "ExtenderFilterResult"
        )
        if answer.get("error"):
            raise ExtenderFailed(str(answer["error"]))
        names = answer.get("nodenames") if self.settings.knows_nodes else None
        if names is None:
            listed = (_fields(answer.get("nodes"))).get("items") or ()
            names = [(_fields(_fields(node).get("metadata"))).get("name", "") for node in listed]
        known = {node.name: node for node in nodes}
        for name in names:
            if name not in known:
                claimed = f"claims a filtered node {go_quote(str(name))} which is not found in the input node list"
                raise ExtenderFailed(f"extender {go_quote(self.settings.url)} {claimed}")
        refused = {name: unschedulable(str(why)) for name, why in (answer.get("failednodes") or {}).items()}
        for name, why in (answer.get("failedandunresolvablenodes") or {}).items():
            refused[name] = unresolvable(str(why))
        return Filtered([known[name] for name in names], refused)

    async def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Points by node, as they count beside those of plugins."""
        answer = await self._call(self.settings.prioritize_verb, self._question(pod, nodes))
        points: dict[str, int] = {}
        for entry in _list(answer, "HostPriorityList"):
            found = _object(entry, "HostPriority")
            score = found.get("score") or 0
            if not isinstance(score, int):
                raise ExtenderFailed(_not_a("number", "HostPriorityList.Score of type int64"))
            points[found.get("host") or ""] = score * self.settings.weight * (100 // MAX_SCORE)
        return points

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
        answer = _object(await self._call(self.settings.preempt_verb, question), "ExtenderPreemptionResult")
        agreed = answer.get("nodenametometavictims") or {}
        return [self._candidate(name, _fields(victims), snapshot) for name, victims in agreed.items()]

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        question = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        answer = _object(await self._call(self.settings.bind_verb, question), "ExtenderBindingResult")
        if answer.get("error"):
            raise ExtenderFailed(str(answer["error"]))

    def _question(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Mapping[str, Any]:
        if self.settings.knows_nodes:
            return {"Pod": pod.pod, "Nodes": None, "NodeNames": [node.name for node in nodes]}
        return {"Pod": pod.pod, "Nodes": {"metadata": {}, "items": [node.node for node in nodes]}, "NodeNames": None}

    def _candidate(self, node_name: str, victims: Mapping[str, Any], snapshot: Snapshot) -> Candidate:
        node = snapshot.get(node_name)
        if node is None:
            raise ExtenderFailed(f"nodeinfo not found for node name {go_quote(node_name)}")
        uids = [_fields(pod).get("uid") or "" for pod in victims.get("pods") or ()]
        for uid in uids:
            if uid not in node.pods:
                claimed = (
                    f"claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, but the pod is not found on that"
                )
                raise ExtenderFailed(f"extender: {self.settings.url} {claimed} node")
        return Candidate(node_name, tuple(node.pods[uid] for uid in uids), victims.get("numpdbviolations") or 0)


def _fields(value: Any) -> Mapping[str, Any]:
    """By lower-case name; null has none."""
    return {name.lower(): inner for name, inner in value.items()} if isinstance(value, dict) else {}


def _object(answer: Any, kind: str) -> Mapping[str, Any]:
    if answer is not None and not isinstance(answer, dict):
        raise ExtenderFailed(_not_a(_json_type(answer), f"type v1.{kind}"))
    return _fields(answer)


def _list(answer: Any, kind: str) -> Sequence[Any]:
    if answer is not None and not isinstance(answer, list):
        raise ExtenderFailed(_not_a(_json_type(answer), f"type v1.{kind}"))
    return answer or ()


def _not_a(found: str, wanted: str) -> str:
    return f"json: cannot unmarshal {found} into Go value of {wanted}"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "number", float: "number", list: "array"}.get(type(value), "object")
