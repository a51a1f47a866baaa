"""An informer for every resource that some quota counts, begun when the first such quota appears.

Custom resources may be counted too, so what a name like `widgets.example.com` stands for is looked up in discovery.
A cluster without quotas watches nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial

import structlog

from controllers.discovery import DiscoveryFailed, discover
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.manager import Manager

log = structlog.get_logger(__name__)

# How long the first list of a resource may take before the quota is tried again later.
_SYNC_SECONDS = 30.0

OnChange = Callable[[str, Delta], None]


class Monitors:
    """`on_change` hears of every change of a watched resource, with the resource's storage name."""

    def __init__(self, manager: Manager, on_change: OnChange) -> None:
        self._manager, self._on_change = manager, on_change
        self._watched: dict[str, Informer] = {}
        self._looking = asyncio.Lock()  # one look into discovery at a time, however many quotas wait for it

    async def watch(self, names: Collection[str]) -> Sequence[str]:
        """Have these resources watched and their informers synced; the names of those that are not served."""
        async with self._looking:
            if not self._watched.keys() >= set(names):
                await self._begin(set(names) - self._watched.keys())
        found = [self._watched[name] for name in names if name in self._watched]
        async with asyncio.timeout(_SYNC_SECONDS):
            for informer in found:
                await informer.wait_for_sync()
        return sorted(set(names) - self._watched.keys())

    async def forget_what_is_gone(self) -> None:
        """Stop watching resources that are not served any more."""
        async with self._looking:
            served = await self._served()
            if served is None:
                return
            for name in sorted(self._watched.keys() - served.keys()):
                self._manager.drop_informer(self._watched.pop(name))

    def objects(self, name: str, namespace: str) -> list[Object]:
        return self._watched[name].list(namespace)

    def is_watched(self, name: str) -> bool:
        return name in self._watched

    async def _begin(self, names: Collection[str]) -> None:
        served = await self._served(only_complete=False) or {}
        for name in sorted(names & served.keys()):
            informer = self._watched[name] = self._manager.informer(served[name])
            informer.add_handler(partial(self._on_change, name))

    async def _served(self, only_complete: bool = True) -> dict[str, Resource] | None:
        """Namespaced resources that can be watched, by storage name; None where discovery does not tell all."""
        try:
            entries = await discover(self._manager.api)
        except DiscoveryFailed as error:
            log.warning("discovery is incomplete", error=str(error))
            if only_complete:
                return None
            entries = list(error.served)
        return {
            str(entry.resource): entry.resource
            for entry in entries
            if entry.is_preferred and entry.resource.namespaced and entry.supports("list", "watch")
        }
