"""NodeDeclaredFeatures: what a pod needs of a kubelet that not every kubelet can do; nodes declare what theirs can.

Follows component-helpers/nodedeclaredfeatures (v1.36). Other features that nodes declare concern changes of pods, which
is admission's business.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from controllers.scheduler.events import ADD, NODE, UPDATE_NODE_DECLARED_FEATURE, ClusterEvent, RegisteredEvent
from controllers.scheduler.interface import CycleState, FilterPlugin, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status

NAME = "NodeDeclaredFeatures"
REFUSED = Status(Code.UNRESOLVABLE, ("node(s) didn't match Pod's required features",), NAME)


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    NAME = NAME

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        state[NAME] = _required(pod.spec)
        return None if state[NAME] else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        declared = ((node.node or {}).get("status") or {}).get("declaredFeatures") or ()
        return None if state[NAME].issubset(declared) else REFUSED

    def filter_question(self, pod: PodInfo) -> Hashable:
        return _required(pod.spec)

    def events(self) -> Sequence[RegisteredEvent]:
        """Nodes alone: what a pod needs is in fields that do not change."""
        return (RegisteredEvent(ClusterEvent(NODE, ADD | UPDATE_NODE_DECLARED_FEATURE)),)


def _required(spec: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(_features(spec))


def _features(spec: Mapping[str, Any]) -> Iterator[str]:
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    if any(
        rule.get("action") == "RestartAllContainers"
        for container in containers
        for rule in container.get("restartPolicyRules") or ()
    ):
        yield "RestartAllContainersOnContainerExits"
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        yield "UserNamespacesHostNetworkSupport"
