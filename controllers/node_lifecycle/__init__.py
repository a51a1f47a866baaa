"""node-lifecycle-controller: what becomes of a node whose kubelet falls silent, and what that does to its pods.

Three controllers: `nodes` keeps NoSchedule taints and labels of each node in line with its conditions; `monitor` passes
over all nodes, turns the conditions of silent ones to Unknown and taints NoExecute as fast as the zones allow; `pods`
marks pods not ready. Deleting the pods of a tainted node is left to the taint-eviction-controller.
pkg/controller/nodelifecycle, v1.36.
"""

from __future__ import annotations

from controllers import node_pods
from controllers.node_lifecycle.health import ready_condition
from controllers.node_lifecycle.monitor import CLUSTER, Monitor
from controllers.node_lifecycle.nodes import NodeReconciler
from controllers.node_lifecycle.pods import PodMarker, PodReconciler, node_changed
from controllers.node_lifecycle.settings import Settings
from controllers.node_lifecycle.silence import Silence
from controllers.node_lifecycle.tainter import Tainter
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import LEASES, NODES, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import For, Watches

__all__ = ["Settings", "add_to"]

_NODE_WORKERS, _POD_WORKERS = 8, 4


def add_to(manager: Manager, settings: Settings | None = None) -> None:
    settings = settings or Settings()
    nodes, pods = manager.informer(NODES), node_pods.index(manager.informer(PODS))
    recorder = manager.event_recorder("node-controller")
    tainter = Tainter(manager.api, manager.clock)
    leases = manager.informer(LEASES)  # of all namespaces: the garbage collector follows them, too, and shares these
    silence = Silence(manager.api, manager.clock, leases, settings)
    marker = PodMarker(manager.api, manager.clock, pods, recorder)
    monitor = Monitor(manager.clock, nodes, silence, tainter, marker, recorder, settings)
    manager.add(
        Controller(
            "node_lifecycle_controller",
            NodeReconciler(manager.api, nodes, tainter),
            [For(nodes)],
            workers=_NODE_WORKERS,
        )
    )
    manager.add(
        Controller(
            "node_lifecycle_controller_monitor",
            monitor,
            [Watches(nodes, lambda node: (CLUSTER,), predicates=[_readiness_changed])],
        )
    )
    manager.add(
        Controller(
            "node_lifecycle_controller_pods",
            PodReconciler(pods, nodes, silence, marker),
            [For(pods, predicates=[node_changed])],
            workers=_POD_WORKERS,
        )
    )


def _readiness_changed(old: Object, new: Object) -> bool:
    before, after = ready_condition(old), ready_condition(new)
    return (before and before.get("status")) != (after and after.get("status"))
