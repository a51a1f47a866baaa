"""persistentvolume-attach-detach-controller, and a simulated attacher in the place of every CSI driver's own.

model     which nodes need a volume, and whether one may lose it, as pure functions
world     the caches, asked by volume and by node
volumes   one reconcile of a volume: makes and deletes its VolumeAttachments
nodes     one reconcile of a node: `status.volumesAttached`
attacher  what an external-attacher does about a VolumeAttachment

Volumes of CSI drivers are attached, unless the CSIDriver says `attachRequired: false`; others need no attaching.
"""

from __future__ import annotations

from controllers.attach_detach.attacher import add_attacher
from controllers.attach_detach.nodes import NodeReconciler
from controllers.attach_detach.volumes import VolumeReconciler
from controllers.attach_detach.world import World, has_news
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import For, Watches

__all__ = ["add_attacher", "add_to"]

COMPONENT = "attachdetach-controller"


def add_to(manager: Manager) -> None:
    world = World(manager)
    nodes = Controller("attachdetach-nodes", NodeReconciler(manager.api, world), [For(world.nodes, [has_news])])

    def report(node: str) -> None:
        nodes.enqueue(ObjectKey("", node))

    recorder = manager.event_recorder(COMPONENT)
    volumes = VolumeReconciler(manager.api, world, recorder, manager.clock, report)
    sources = [
        For(world.volumes),
        Watches(world.pods, world.volumes_of_pod),
        Watches(world.claims, world.volumes_of_claim),
        Watches(world.attachments, world.volumes_of_attachment),
        Watches(world.nodes, world.volumes_of_node, [has_news]),
        Watches(world.drivers, world.volumes_of_driver),
    ]
    manager.add(Controller("attachdetach", volumes, sources, workers=10))
    manager.add(nodes)
