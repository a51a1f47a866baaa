"""All stores of one server, made once per kind: what the handlers are given."""

from __future__ import annotations

from apiserver.registry.binding import BindingStore
from apiserver.registry.catalog import Catalog, Kind
from apiserver.registry.context import Machinery
from apiserver.registry.deletion import Deleter
from apiserver.registry.eviction import EvictionStore
from apiserver.registry.listing import Lister
from apiserver.registry.scale import ScaleStore
from apiserver.registry.store import ResourceStore


class Registry:
    """Finds the store of a kind. Stores hold no state of their own, so they come and go with their kinds."""

    def __init__(self, machinery: Machinery) -> None:
        self.machinery = machinery
        self.lister = Lister(machinery.storage, machinery.cache)
        self._stores: dict[int, ResourceStore] = {}
        self._deleters: dict[int, Deleter] = {}

    @property
    def catalog(self) -> Catalog:
        return self.machinery.catalog

    def store(self, kind: Kind) -> ResourceStore:
        store = self._stores.get(id(kind))
        if store is None or store.kind is not kind:
            store = self._stores[id(kind)] = ResourceStore(kind, self.machinery)
        return store

    def deleter(self, kind: Kind) -> Deleter:
        deleter = self._deleters.get(id(kind))
        if deleter is None or deleter.kind is not kind:
            deleter = self._deleters[id(kind)] = Deleter(kind, self.machinery)
        return deleter

    def forget_gone(self) -> None:
        """Let go of the stores of kinds that are served no more, and of what they remember."""
        served = {id(kind) for kind in self.catalog}
        self._stores = {key: store for key, store in self._stores.items() if key in served}
        self._deleters = {key: deleter for key, deleter in self._deleters.items() if key in served}

    def scale(self, kind: Kind) -> ScaleStore:
        return ScaleStore(self.store(kind), self.machinery)

    def bindings(self) -> BindingStore:
        return BindingStore(self._named("", "pods"), self.machinery)

    def evictions(self) -> EvictionStore:
        pods, budgets = self._named("", "pods"), self._named("policy", "poddisruptionbudgets")
        return EvictionStore(pods, budgets, self.deleter(pods.kind), self.machinery)

    def _named(self, group: str, plural: str) -> ResourceStore:
        kind = self.catalog.get(group, "v1", plural)
        assert kind is not None, f"{plural} is in the catalog"
        return self.store(kind)
