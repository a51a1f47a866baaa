"""Deletion with policy Orphan: the dependents lose their reference, then the object loses its finalizer."""

from __future__ import annotations

from functools import partial

import structlog

from controllers.batches import at_once
from controllers.garbage_collector.graph import Graph, Node
from controllers.garbage_collector.identity import ORPHAN, Identity
from controllers.garbage_collector.objects import Objects
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.runtime.result import DONE, Result

log = structlog.get_logger(__name__)


class Orphaner:
    def __init__(self, graph: Graph, objects: Objects) -> None:
        self._graph, self._objects = graph, objects

    async def reconcile(self, key: ObjectKey) -> Result:
        owner = self._graph.get(key.name)
        if owner is None:
            return DONE
        log.info("orphaning dependents", object=str(owner.identity), dependents=len(owner.dependents))
        errors = await at_once([partial(self._let_go, dependent, owner) for dependent in owner.dependents.values()])
        if errors:
            raise errors[0]
        await self._objects.remove_finalizer(owner.identity, ORPHAN)
        return DONE

    async def _let_go(self, dependent: Node, owner: Node) -> None:
        identity: Identity = dependent.identity
        try:
            await self._objects.drop_references(identity, [owner.identity.uid])
        except NotFound:
            return
