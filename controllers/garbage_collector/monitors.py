"""An informer for every resource that can be deleted, kept up to what discovery says, all feeding the graph.

The graph is made of metadata: of what no other loop mirrors, nothing else is transferred or kept.
Discovery is asked at the start, every 30 seconds, and whenever a CustomResourceDefinition or APIService changes.
"""

from __future__ import annotations

from functools import partial

import structlog

from controllers.discovery import DiscoveryFailed, Served, discover
from controllers.garbage_collector.collector import Collector
from controllers.garbage_collector.graph import Graph, Node
from controllers.garbage_collector.identity import Identity
from controllers.garbage_collector.objects import Objects
from controllers.garbage_collector.orphaning import Orphaner
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of, namespace_of, uid_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import Watches

log = structlog.get_logger(__name__)

DISCOVERY_SECONDS = 30.0
_EVERYTHING = ObjectKey("", "everything")
# Events have no owners and come in floods.
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
_CHANGE_WHAT_IS_SERVED = (
    Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False),
)


def add_to(manager: Manager) -> None:
    collecting = _Work("garbage_collector_attempt_to_delete")
    orphaning = _Work("garbage_collector_attempt_to_orphan")
    reporter = _Reporter(manager.event_recorder("garbage-collector-controller"))
    graph = Graph(collecting.add, orphaning.add, reporter.report)
    objects = Objects(manager.api)
    collecting.serve(manager, Collector(graph, objects, collecting.add), workers=20)
    orphaning.serve(manager, Orphaner(graph, objects), workers=20)
    reporter.serve(manager)
    monitors = Monitors(manager, graph, objects)
    sources = [Watches(manager.informer(r), lambda _: (_EVERYTHING,)) for r in _CHANGE_WHAT_IS_SERVED]
    controller = Controller("garbage_collector_monitors", monitors, sources)
    manager.add(controller)
    controller.enqueue(_EVERYTHING)


class Monitors:
    """Its reconcile brings the set of watched resources up to date."""

    def __init__(self, manager: Manager, graph: Graph, objects: Objects) -> None:
        self._manager, self._graph, self._objects = manager, graph, objects
        self._watched: dict[Resource, Informer] = {}

    async def reconcile(self, key: ObjectKey) -> Result:
        try:
            served, is_complete = await discover(self._manager.api), True
        except DiscoveryFailed as error:
            log.warning("discovery is incomplete", error=str(error))
            served, is_complete = list(error.served), False
        self._objects.learn(served)
        collectable = {entry.resource for entry in served if is_collectable(entry)}
        for resource in sorted(collectable - self._watched.keys(), key=str):
            self._watch(resource)
        if is_complete:
            for resource in self._watched.keys() - collectable:
                self._manager.drop_informer(self._watched.pop(resource))
        return RequeueAfter(DISCOVERY_SECONDS)

    def _watch(self, resource: Resource) -> None:
        informer = self._watched[resource] = self._manager.metadata_informer(resource)
        informer.add_handler(partial(self._on_change, resource))

    def _on_change(self, resource: Resource, delta: Delta) -> None:
        if delta.old is not None and (delta.new is None or uid_of(delta.new) != uid_of(delta.old)):
            self._graph.remove(_identity(resource, delta.old))
        if delta.new is not None and not self._graph.refresh(uid_of(delta.new), delta.new):
            self._graph.observe(_identity(resource, delta.new), delta.new)


def is_collectable(entry: Served) -> bool:
    resource = entry.resource
    return (
        entry.is_preferred
        and entry.supports("delete", "list", "watch")
        and (resource.group, resource.plural) not in _IGNORED
    )


class _Work:
    """A controller whose keys are uids, put in by the graph instead of by sources."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._controller: Controller | None = None

    def serve(self, manager: Manager, reconciler: Collector | Orphaner, workers: int) -> None:
        self._controller = Controller(self._name, reconciler, workers=workers)
        manager.add(self._controller)

    def add(self, uid: str) -> None:
        assert self._controller is not None
        self._controller.enqueue(ObjectKey("", uid))


class _Reporter:
    """Tells people about references into other namespaces. The graph reports from informer handlers, which must not
    wait, so reports are kept by dependent until its turn: at most one for each."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._reports: dict[str, tuple[Identity, Identity]] = {}
        self._controller: Controller | None = None

    def serve(self, manager: Manager) -> None:
        self._controller = Controller("garbage_collector_reports", self)
        manager.add(self._controller)

    def report(self, dependent: Node, owner: Identity) -> None:
        assert self._controller is not None
        self._reports[dependent.identity.uid] = (dependent.identity, owner)
        self._controller.enqueue(ObjectKey("", dependent.identity.uid))

    async def reconcile(self, key: ObjectKey) -> Result:
        dependent, owner = self._reports.pop(key.name)
        namespace = dependent.namespace
        meant = owner._replace(namespace=namespace)
        about: Object = {
            "kind": dependent.kind,
            "apiVersion": dependent.api_version,
            "metadata": {"namespace": namespace, "name": dependent.name, "uid": dependent.uid},
        }
        message = f'ownerRef {meant} does not exist in namespace "{namespace}"'
        await self._recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message)
        return DONE


def _identity(resource: Resource, obj: Object) -> Identity:
    return Identity(resource.kind, resource.api_version, namespace_of(obj), name_of(obj), uid_of(obj))
