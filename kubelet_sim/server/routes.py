"""Which path of the kubelets' API leads where. One is added here."""

from __future__ import annotations

from kubelet_sim.server.logs import ContainerLogs
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.server import Routes
from kubeloop.runtime.manager import Manager


def routes(manager: Manager, pods: Pods) -> Routes:
    return {
        "containerLogs": ContainerLogs(pods, manager.clock).answer,
    }
