"""DefaultBinder: writes the decision down as a Binding of the pod."""

from __future__ import annotations

from controllers.scheduler.interface import BindPlugin, CycleState
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Status
from kubeloop.apimachinery.resource import PODS


class DefaultBinder(BindPlugin):
    NAME = "DefaultBinder"

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        await self.handle.api.create(PODS, binding, pod.namespace, subresource="binding", name=pod.name)
        return None
