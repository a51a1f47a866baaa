"""Which path of the kubelets' API leads where. One is added here."""

from __future__ import annotations

from kubelet_sim.server.cluster import Cluster
from kubelet_sim.server.logs import ContainerLogs
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.port_forward import PortForward
from kubelet_sim.server.remote import End, Remote
from kubelet_sim.server.server import Routes
from kubeloop.client.informer import Informer
from kubeloop.runtime.manager import Manager


def routes(manager: Manager, informer: Informer, pods: Pods, end: End) -> Routes:
    """`end` is told of containers whose first process was killed."""
    logs = ContainerLogs(pods, manager.clock)
    remote = Remote(manager.api, manager.clock, pods, logs, Cluster(manager.api, informer), end)
    return {
        "attach": remote.attach,
        "containerLogs": logs.answer,
        "exec": remote.exec,
        "portForward": PortForward(pods).answer,
    }
