"""Puts the simulated nodes into a manager: six controllers, and two more for stages.

How many nodes there are, the nodes, their leases, their pods, their memory and disk, and faults; stages of the cluster,
and of other kinds.

Called by __main__ and by in-process clusters. Everything the nodes do goes through the API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kubelet_sim.attachments import Attachments
from kubelet_sim.faults.definition import FAULTS
from kubelet_sim.faults.definition import install as install_faults
from kubelet_sim.faults.reconciler import FaultReconciler
from kubelet_sim.faults.registry import Faults
from kubelet_sim.leases import LeaseReconciler
from kubelet_sim.node_images import NodeImages
from kubelet_sim.nodes import NodeReconciler
from kubelet_sim.pods import PodReconciler
from kubelet_sim.pool import Pool, PoolReconciler
from kubelet_sim.pressure import PressureReconciler, Pressures
from kubelet_sim.runtime import Simulated
from kubelet_sim.served_kind import ServedKind
from kubelet_sim.server.node_pages import Usage
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.routes import routes
from kubelet_sim.server.server import KubeletServer, Serving
from kubelet_sim.settings import Settings
from kubelet_sim.stages.definition import install as install_stages
from kubelet_sim.stages.staging import Staging
from kubelet_sim.statuses import PodStatuses
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, uid_of
from kubeloop.apimachinery.node_count import ASKED_FOR
from kubeloop.apimachinery.resource import CONFIG_MAPS, NODES, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.predicates import annotations_changed
from kubeloop.runtime.source import For, Watches

if TYPE_CHECKING:
    from kubelet_sim.process.machine import Machine
    from kubelet_sim.process.runtime import ProcessRuntime

COMPONENT = "kubelet"
_POD_WORKERS = 16
_NODE_WORKERS = 8
_LEASE_WORKERS = 32  # what beats at one tick is sent, committed and answered together, which costs both sides less


def add_to(
    manager: Manager,
    settings: Settings | None = None,
    serving: Serving | None = None,
    machine: Machine | None = None,
) -> None:
    """Before the manager runs. `serving`: where the kubelets' API is served, if it is. `machine`: what containers
    really run on; without one they are simulated.
    """
    settings = settings or Settings()
    own = Pool(settings)
    recorders = partial(manager.event_recorder, COMPONENT)
    nodes = manager.informer(NODES)
    pods = manager.informer(PODS, field_selector="spec.nodeName!=")

    def own_node(node: Object) -> tuple[ObjectKey, ...]:
        return (key_of(node),) if node["metadata"]["name"] in own else ()

    def report(node: str) -> None:
        node_controller.enqueue(ObjectKey("", node))

    def wake_pod(pod: ObjectKey) -> None:
        pod_controller.enqueue(pod)

    def uids_of_pods() -> set[str]:
        return {uid_of(pod) for pod in pods.list()}

    def report_within(node: str, seconds: float) -> None:
        node_controller.enqueue_after(ObjectKey("", node), seconds)

    attachments = Attachments(manager.api, report)
    images = NodeImages(manager.clock, manager.rng, pods, nodes, own, report_within)
    pressures, faults = Pressures(), Faults(nodes)
    staging = Staging(manager, settings)
    node_reconciler = NodeReconciler(
        manager.api,
        manager.clock,
        manager.rng,
        nodes,
        recorders,
        attachments,
        pressures.on,
        images,
        faults,
        staging,
        own,
        settings,
    )
    lease_reconciler = LeaseReconciler(manager.api, manager.clock, manager.rng, nodes, own, faults)
    real = _process_runtime(machine, manager, wake_pod, uids_of_pods) if machine else None
    statuses = PodStatuses(manager.api, pods, faults, staging.pods)
    pod_reconciler = PodReconciler(
        manager.api,
        manager.clock,
        manager.rng,
        pods,
        nodes,
        recorders,
        attachments,
        pressures,
        faults,
        staging,
        statuses,
        images,
        real or Simulated(),
        own,
        settings,
        wake_pod,
    )
    node_controller = Controller("kubelet-nodes", node_reconciler, [Watches(nodes, own_node)], workers=_NODE_WORKERS)
    lease_controller = Controller("kubelet-leases", lease_reconciler, workers=_LEASE_WORKERS)
    manager.add(node_controller)
    manager.add(lease_controller)
    of_pods = [
        Watches(pods, pod_reconciler.keys, [statuses.is_news]),
        Watches(nodes, attachments.pods_with_volumes, [other_volumes]),
    ]
    pod_controller = Controller("kubelet-pods", pod_reconciler, of_pods, workers=_POD_WORKERS)
    manager.add(pod_controller)
    pressure_reconciler = PressureReconciler(
        manager.clock, pods, nodes, recorders, pressures, faults, own.__contains__, report, pod_controller.enqueue
    )
    said_usage = [Watches(pods, pressure_reconciler.keys, [annotations_changed])]
    pressure_controller = Controller("kubelet-pressure", pressure_reconciler, said_usage)
    manager.add(pressure_controller)

    def wake_hit(pod: ObjectKey) -> None:
        """A fault has begun or ended for it."""
        pod_controller.enqueue(pod)
        found = pods.get(pod)
        for key in pressure_reconciler.keys(found) if found else ():
            pressure_controller.enqueue(key)

    def wake(node: str) -> None:
        node_controller.enqueue(ObjectKey("", node))
        lease_controller.enqueue(ObjectKey("", node))

    fault_reconciler = FaultReconciler(
        manager.api, manager.clock, pods, nodes, faults, own, wake, wake_hit, settings.shard == 0
    )
    fault_controller = Controller("kubelet-faults", fault_reconciler)
    manager.add(fault_controller)
    served_faults = ServedKind(manager, FAULTS, fault_controller.enqueue, fault_reconciler.refresh)
    fault_reconciler.known = served_faults.objects
    staging.add_to(manager)

    def look_at_pods() -> None:
        for pod in pods.list():
            if pod["spec"]["nodeName"] in own:
                pod_controller.enqueue(key_of(pod))

    def look_at_nodes() -> None:
        for name in own:
            report(name)

    staging.on_change(look_at_pods, look_at_nodes)
    pods.add_relist_handler(look_at_pods)  # what a list skips may hide behind an echo

    async def prepared() -> None:
        await served_faults.wait_for_sync()
        await staging.wait_for_sync()

    def begin(names: Sequence[str]) -> None:
        for name in names:
            node_reconciler.forget(name)
            node_controller.enqueue(ObjectKey("", name))
            lease_controller.enqueue(ObjectKey("", name))
        new = set(names)
        for pod in pods.list():  # whose news came before these nodes were ours
            if pod["spec"]["nodeName"] in new:
                pod_reconciler.remember(pod)
                pod_controller.enqueue(key_of(pod))
                for key in pressure_reconciler.keys(pod):
                    pressure_controller.enqueue(key)

    asked_for = manager.informer(CONFIG_MAPS, ASKED_FOR.namespace, field_selector=f"metadata.name={ASKED_FOR.name}")
    pool_reconciler = PoolReconciler(manager.api, asked_for, nodes, own, settings, begin, prepared)
    # A node whose registration was under way when it became one too many shows only later.
    of_pool = [For(asked_for), Watches(nodes, own.keys_of_surplus)]
    pool_controller = Controller("kubelet-pool", pool_reconciler, of_pool)
    manager.add(pool_controller)

    async def start() -> None:
        if settings.faults:
            await install_faults(manager.api)
        if settings.follows_stages:
            await install_stages(manager.api)
        pool_controller.enqueue(ASKED_FOR)

    manager.add_task("kubelet: start", start)
    if real is not None:
        manager.add_task("kubelet: containers", real.run)
    if serving is not None:
        seen = Pods(pods, statuses.shown, own.__contains__, faults.unreachable)

        def end(key: ObjectKey, container: str, exit_code: int) -> None:
            pod_reconciler.end(key, container, exit_code)
            pod_controller.enqueue(key)

        found = routes(manager, pods, nodes, seen, Usage(faults.as_used, images.bytes_on), end, real)
        manager.add_task("kubelet: serve", KubeletServer(serving, found).run)


def _process_runtime(
    machine: Machine, manager: Manager, wake: Callable[[ObjectKey], None], known: Callable[[], set[str]]
) -> ProcessRuntime:
    from kubelet_sim.process.runtime import ProcessRuntime  # who simulates needs none of it

    return ProcessRuntime(machine, manager.api, manager.clock, wake, known)


def other_volumes(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether other volumes are attached to the node than before."""
    before, after = ((node.get("status") or {}).get("volumesAttached") for node in (old, new))
    return before != after
