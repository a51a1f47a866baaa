"""The server's own reads and writes, for strategies and for the objects every cluster has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from apiserver.auth.authentication import MASTERS, User
from apiserver.registry.catalog import Kind
from apiserver.registry.context import SERVER, Context
from apiserver.registry.options import DeleteOptions
from apiserver.registry.registry import Registry
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object

SYSTEM = User("system:apiserver", groups=(MASTERS,))


@dataclass(frozen=True, slots=True)
class ServerCluster:
    """Cluster over the server's stores; `registry` is asked for late, as the stores themselves are given this."""

    registry: Callable[[], Registry]
    reader: Reader
    rng: random.Random
    service_ranges: Sequence[str]

    async def fresh(self) -> None:
        await self.registry().machinery.cache.fresh()

    async def create(self, group: str, kind: str, obj: Object) -> None:
        found = self._kind(group, kind)
        found.strategy.default(obj)
        context = Context(SYSTEM, obj["metadata"].get("namespace", ""), field_manager=SERVER)
        await self.registry().store(found).create(obj, context)

    async def delete(self, group: str, kind: str, namespace: str, name: str) -> None:
        with suppress(NotFound):
            context = Context(SYSTEM, namespace, name)
            await self.registry().deleter(self._kind(group, kind)).delete(context, DeleteOptions())

    def _kind(self, group: str, kind: str) -> Kind:
        found = self.registry().catalog.by_kind(group, kind)
        assert found is not None, f"{kind} is in the catalog"
        return found
