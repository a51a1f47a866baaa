"""Which path of the kubelets' API leads where. One is added here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubelet_sim.server.cluster import Cluster
from kubelet_sim.server.logs import ContainerLogs
from kubelet_sim.server.node_pages import NodePages, Usage
from kubelet_sim.server.pod_proxy import PodProxy
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.port_forward import PortForward
from kubelet_sim.server.remote import End, Remote
from kubelet_sim.server.server import Routes
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.client.informer import Informer
from kubeloop.runtime.manager import Manager

if TYPE_CHECKING:
    from kubelet_sim.process.runtime import ProcessRuntime


def routes(
    manager: Manager,
    informer: Informer,
    nodes: Informer,
    pods: Pods,
    usage: Usage,
    end: End,
    real: ProcessRuntime | None = None,
) -> Routes:
    """`end` is told of simulated containers whose first process was killed. `real`: who has those that really run."""
    cluster = Cluster(manager.api, informer)

    def allocatable(node: str) -> Mapping[str, str]:
        return ((nodes.get(ObjectKey("", node)) or {}).get("status") or {}).get("allocatable") or {}

    logs = ContainerLogs(pods, manager.clock, cluster.answer, real, allocatable)
    remote = Remote(manager.api, manager.clock, pods, logs, cluster, end, real)
    node = NodePages(manager.api, pods, nodes, usage, manager.clock)
    return {
        "attach": remote.attach,
        "containerLogs": logs.answer,
        "exec": remote.exec,
        "healthz": node.healthz,
        "metrics": node.metrics,
        "podProxy": PodProxy(pods, real).answer,
        "pods": node.pods,
        "portForward": PortForward(pods, real).answer,
        "runningpods": node.running_pods,
        "stats": node.stats,
    }
