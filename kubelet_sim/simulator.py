"""Puts the simulated nodes into a manager: three controllers (nodes, leases, pods) over two informers.

Called by __main__ and by in-process clusters. Everything the nodes do goes through the API.
"""

from __future__ import annotations

from functools import partial

from kubelet_sim.attachments import Attachments
from kubelet_sim.leases import LeaseReconciler
from kubelet_sim.node_object import identities
from kubelet_sim.nodes import NodeReconciler
from kubelet_sim.pods import PodReconciler
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of
from kubeloop.apimachinery.resource import NODES, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import Watches

COMPONENT = "kubelet"
_POD_WORKERS = 16
_NODE_WORKERS = 8


def add_to(manager: Manager, settings: Settings | None = None) -> None:
    """Before the manager runs."""
    settings = settings or Settings()
    own = {identity.name: identity for identity in identities(settings)}
    recorders = partial(manager.event_recorder, COMPONENT)
    nodes = manager.informer(NODES)
    pods = manager.informer(PODS, field_selector="spec.nodeName!=")

    def own_node(node: Object) -> tuple[ObjectKey, ...]:
        return (key_of(node),) if node["metadata"]["name"] in own else ()

    def report(node: str) -> None:
        node_controller.enqueue(ObjectKey("", node))

    attachments = Attachments(manager.api, report)
    node_reconciler = NodeReconciler(
        manager.api, manager.clock, manager.rng, nodes, recorders, attachments, own, settings
    )
    lease_reconciler = LeaseReconciler(manager.api, manager.clock, manager.rng, nodes, own)
    pod_reconciler = PodReconciler(
        manager.api, manager.clock, manager.rng, pods, nodes, recorders, attachments, own, settings
    )
    node_controller = Controller("kubelet-nodes", node_reconciler, [Watches(nodes, own_node)], workers=_NODE_WORKERS)
    lease_controller = Controller("kubelet-leases", lease_reconciler, workers=_NODE_WORKERS)
    manager.add(node_controller)
    manager.add(lease_controller)
    of_pods = [Watches(pods, pod_reconciler.keys), Watches(nodes, attachments.pods_with_volumes, [other_volumes])]
    manager.add(Controller("kubelet-pods", pod_reconciler, of_pods, workers=_POD_WORKERS))

    async def start() -> None:
        for name in own:
            node_controller.enqueue(ObjectKey("", name))
            lease_controller.enqueue(ObjectKey("", name))

    manager.add_task("kubelet: start", start)


def other_volumes(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether other volumes are attached to the node than before."""
    before, after = ((node.get("status") or {}).get("volumesAttached") for node in (old, new))
    return before != after
