"""What a store needs to carry out a request: the shared machinery, and the facts of the one request."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from apiserver.admission.chain import Annotate, Chain, unheard
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Authorizer
from apiserver.registry.catalog import Catalog
from apiserver.registry.options import WARN, Warnings
from apiserver.schema.definitions import Schema
from apiserver.storage.interface import Key, Storage, Stored
from apiserver.storage.reader import Reader
from apiserver.watch.cache import WatchCache
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object

# The field manager of what the server itself writes by the usual ways.
SERVER = "kube-apiserver"


@dataclass(frozen=True, slots=True)
class Machinery:
    """Shared by all stores of one server. Every source of time, chance and durability stands here."""

    storage: Storage
    cache: WatchCache
    admission: Chain
    catalog: Catalog
    reader: Reader
    clock: Clock
    rng: random.Random
    schema: Schema
    authorizer: Authorizer


@dataclass(frozen=True, slots=True)
class Context:
    """One request: who asks, about which object, with which options."""

    user: User
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    dry_run: bool = False
    field_manager: str = ""  # who owns what the request changes
    field_validation: str = WARN
    force: bool = False
    warnings: Warnings = field(default_factory=Warnings)
    annotate: Annotate = unheard  # adds to the request's audit event


class CacheReader:
    """Synchronous reads of the server's own objects, for admission and authorization.

    They see what the cache has applied, which is every write this server has acknowledged. Parsed objects are kept and
    shared (they are read-only): the same namespaces, roles and quotas are asked for on every write. Full: all of them
    are forgotten and parsed again when asked for.
    """

    def __init__(self, cache: WatchCache, max_parsed: int = 10_000) -> None:
        self._cache, self._max_parsed = cache, max_parsed
        self._parsed: dict[Key, tuple[int, Object]] = {}  # key -> (revision, object at that revision)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        stored = self._cache.get(Key(resource, namespace, name))
        return self._object(stored) if stored else None

    def list(self, resource: str, namespace: str = "") -> Iterator[Object]:
        return (self._object(stored) for stored in self._cache.list(resource, namespace))

    def _object(self, stored: Stored) -> Object:
        revision, obj = self._parsed.get(stored.key, (0, None))
        if obj is None or revision != stored.revision:
            if len(self._parsed) >= self._max_parsed:
                self._parsed.clear()
            obj = stored.object()
            self._parsed[stored.key] = (stored.revision, obj)
        return obj
