"""Where quota usage is read and charged: `status.used` of the ResourceQuota objects, by compare-and-swap.

The ResourceQuota plugin keeps its books here while a write is being admitted; the quota loop recounts them later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apiserver.storage.interface import Key, RevisionMismatch, Storage, Stored, Value, Write, encode_body
from kubeloop.apimachinery.errors import STALE, Conflict
from kubeloop.apimachinery.meta import Object, labels_of, name_of, namespace_of, resource_version_of

RESOURCE_QUOTAS = "resourcequotas"


class Ledger(Protocol):
    async def quotas(self, namespace: str) -> Sequence[Object]:
        """The quotas of a namespace as last committed, free to be changed."""
        ...

    async def save(self, quota: Object) -> None:
        """Store a quota's status; Conflict where it was changed since it was read."""
        ...


class Cache(Protocol):
    """What the ledger needs of the watch cache."""

    async def fresh(self) -> None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Stored]: ...


class StorageLedger:
    """The ledger of a server: reads from its cache, brought up to date, writes to its storage."""

    def __init__(self, storage: Storage, cache: Cache) -> None:
        self._storage = storage
        self._cache = cache

    async def quotas(self, namespace: str) -> Sequence[Object]:
        await self._cache.fresh()
        return [stored.object() for stored in self._cache.list(RESOURCE_QUOTAS, namespace)]

    async def save(self, quota: Object) -> None:
        key = Key(RESOURCE_QUOTAS, namespace_of(quota), name_of(quota))
        value = Value(encode_body(quota), labels_of(quota), {})
        try:
            await self._storage.write(Write(key, int(resource_version_of(quota)), value))
        except RevisionMismatch as error:
            raise Conflict.of(RESOURCE_QUOTAS, "", key.name, STALE) from error
