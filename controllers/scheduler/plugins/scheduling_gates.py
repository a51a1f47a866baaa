"""SchedulingGates: a pod with gates is not tried before the last one is gone."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.scheduler.events import (
    POD,
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    ClusterEvent,
    Hint,
    RegisteredEvent,
)
from controllers.scheduler.interface import PreEnqueuePlugin
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Status, unresolvable
from kubeloop.apimachinery.meta import ReadOnlyObject, uid_of


class SchedulingGates(PreEnqueuePlugin):
    NAME = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = pod.spec.get("schedulingGates")
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate['name'] for gate in gates)}]").of(self.NAME)

    def events(self) -> Sequence[RegisteredEvent]:
        return (RegisteredEvent(ClusterEvent(POD, UPDATE_POD_SCHEDULING_GATES_ELIMINATED), is_its_own),)


def is_its_own(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """A hint: only the pod's own update helps it."""
    return Hint.QUEUE if new is not None and uid_of(new) == pod.uid else Hint.SKIP
