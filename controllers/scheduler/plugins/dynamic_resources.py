"""DynamicResources: pods with resource claims (DRA).

There are no resource drivers in this control plane, so nothing ever publishes a device and no claim can be allocated: a
pod that asks for one waits, as it does on a real cluster without drivers. Pods without claims only notice that this
plugin is asked before preemption when no node fits, which their message tells.
"""

from __future__ import annotations

from collections.abc import Mapping

from controllers.scheduler.interface import CycleState, FilterPlugin, Nomination, PostFilterPlugin, PreFilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, failed, unschedulable

NAME = "DynamicResources"
NO_DEVICES = Status(Code.UNSCHEDULABLE, ("cannot allocate all claims",), NAME)


class DynamicResources(PreFilterPlugin, FilterPlugin, PostFilterPlugin):
    NAME = NAME

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        claims = pod.spec.get("resourceClaims") or ()
        state[NAME] = claims
        return None if claims else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return NO_DEVICES

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        """Nothing to give back. Where an earlier plugin's PreFilter refused the pod, this one was never asked."""
        if NAME not in state:
            return None, failed("not found")
        return None, unschedulable("still not schedulable" if state[NAME] else "no new claims to deallocate")
