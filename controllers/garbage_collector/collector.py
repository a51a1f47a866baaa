"""Looks at one object of the graph and does what is due: nothing, drop references, delete it, or let it go.

The key is a uid. Owners are always asked for live (or known to be absent); the object itself is taken as the informer
has it, since its deletion is conditional on its uid and resourceVersion. processItem and attemptToDeleteItem of
pkg/controller/garbagecollector, v1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from controllers.garbage_collector.decision import Delete, Keep, classify, decide
from controllers.garbage_collector.graph import Graph, Node
from controllers.garbage_collector.identity import FOREGROUND, Reference, identity_of
from controllers.garbage_collector.objects import ClusterOwnedByNamespaced, Objects, Unsettled
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, owner_references_of, uid_of
from kubeloop.runtime.result import DONE, Result

log = structlog.get_logger(__name__)


class Collector:
    def __init__(self, graph: Graph, objects: Objects, look_at: Callable[[str], None]) -> None:
        self._graph, self._objects, self._look_at = graph, objects, look_at

    async def reconcile(self, key: ObjectKey) -> Result:
        node = self._graph.get(key.name)
        if node is None:
            return DONE  # gone
        try:
            if node.is_virtual:
                return await self._look_at_virtual(node)
            if node.is_being_deleted and not node.is_deleting_dependents:
                return DONE  # it is on its way
            if node.is_deleting_dependents:
                return await self._finish_foreground(node)
            return await self._collect(node)
        except ClusterOwnedByNamespaced as error:
            log.info("left alone", object=str(node.identity), why=error.message)
            return DONE

    async def _look_at_virtual(self, node: Node) -> Result:
        """Somebody refers to it, no informer has shown it: is it there?"""
        identity = node.identity
        if await self._objects.get(identity) is None:
            self._graph.remove_absent(identity)
            return DONE
        if self._graph.get(identity.uid) is not node or not node.is_virtual:
            return DONE  # the informer has caught up meanwhile
        raise Unsettled(f"{identity} exists but has not been observed yet")

    async def _finish_foreground(self, node: Node) -> Result:
        """It waits for its dependents: those that block it go first, then its finalizer."""
        blocking = node.blocking_dependents()
        if not blocking:
            log.info("dependents are gone", object=str(node.identity))
            await self._objects.remove_finalizer(node.identity, FOREGROUND)
            return DONE
        for dependent in blocking:
            if not dependent.is_deleting_dependents:
                self._look_at(dependent.identity.uid)
        return DONE

    async def _collect(self, node: Node) -> Result:
        obj = node.obj
        references = owner_references_of(obj) if obj is not None else []
        if obj is None or not references:
            return DONE
        owners = await asyncio.gather(*(self._owner(node, reference) for reference in references))
        classified = classify(zip(references, owners, strict=True))
        dependents = [dependent.is_deleting_dependents for dependent in node.dependents.values()]
        decision = decide(obj, classified, dependents)
        if isinstance(decision, Keep):
            await self._keep(node, decision)
        else:
            await self._delete(node, obj, decision)
        return DONE

    async def _keep(self, node: Node, decision: Keep) -> None:
        if not decision.drop:
            return
        log.info("dropping references", object=str(node.identity), owners=list(decision.drop))
        try:
            await self._objects.drop_references(node.identity, decision.drop)
        except NotFound:
            self._graph.remove_absent(node.identity)

    async def _delete(self, node: Node, obj: ReadOnlyObject, decision: Delete) -> None:
        if decision.unblock:
            await self._objects.unblock_references(node.identity, node.owners)
        log.info("deleting", object=str(node.identity), propagation_policy=decision.policy)
        if not await self._objects.delete(node.identity, obj, decision.policy):
            self._graph.remove_absent(node.identity)

    async def _owner(self, node: Node, reference: Reference) -> Object | None:
        """The live owner that a reference means, None where it does not exist."""
        absent, of_cluster = self._graph.absent_owners, identity_of(reference, "")
        in_namespace = of_cluster._replace(namespace=node.identity.namespace)
        if of_cluster in absent or in_namespace in absent:
            return None
        resource = self._objects.resource(of_cluster.api_version, of_cluster.kind)
        identity = in_namespace if resource.namespaced else of_cluster
        owner = await self._objects.get(identity)
        if owner is None or uid_of(owner) != identity.uid:
            absent.add(identity)
            return None
        return owner
