"""What a store needs to carry out a request: the shared machinery, and the facts of the one request."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver.admission.chain import CONNECT, CREATE, DELETE, UPDATE, Annotate, Attributes, Chain, unheard
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Authorizer
from apiserver.registry.catalog import Catalog
from apiserver.registry.cluster import Cluster
from apiserver.registry.custom.versioning import STORED_IN
from apiserver.registry.options import WARN, Warnings
from apiserver.schema.definitions import Schema
from apiserver.storage.interface import Key, Storage, Stored
from apiserver.storage.reader import Reader
from apiserver.watch.cache import WatchCache
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.validation import path_segment_errors
from kubeloop.apimachinery.values import value

# The field manager of what the server itself writes by the usual ways.
SERVER = "kube-apiserver"

# Options as admission is shown them: their version, and their kinds.
_META = "meta.k8s.io/v1"
_OPTIONS = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}


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
    cluster: Cluster


@value
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
    options: Mapping[str, Any] = field(default_factory=dict)  # CreateOptions and the like, as they were sent

    def key(self, storage: str) -> Key:
        """Where the object is kept that the request names; BadRequest for a name that no object can have."""
        if reasons := path_segment_errors(self.name):
            raise BadRequest(f"Name parameter invalid: {go_quote(self.name)}: {';'.join(reasons)}")
        return Key(storage, self.namespace, self.name)

    def attributes(
        self, operation: str, resource: Resource, obj: Object | None = None, old: Object | None = None
    ) -> Attributes:
        """This request as admission sees it."""
        metadata = (obj or old or {}).get("metadata") or {}
        return Attributes(
            operation=operation,
            resource=resource,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name or metadata.get("name", ""),
            object=obj,
            old_object=old,
            user=self.user,
            dry_run=self.dry_run,
            options={} if operation == CONNECT else {"kind": _OPTIONS[operation], "apiVersion": _META, **self.options},
            warn=self.warnings.add,
            annotate=self.annotate,
        )


class CacheReader:
    """Synchronous reads of the server's own objects, for admission and authorization.

    They see what the cache has applied, which is every write this server has acknowledged. Parsed objects are kept and
    shared (they are read-only): the same namespaces, roles and quotas are asked for on every write. Full: all of them
    are forgotten and parsed again when asked for. Custom objects are as they are stored, and say in which version.
    """

    def __init__(self, cache: WatchCache, max_parsed: int = 10_000) -> None:
        self._cache, self._max_parsed = cache, max_parsed
        self._parsed: dict[Key, tuple[int, Object]] = {}  # key -> (revision, object at that revision)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        stored = self._cache.get(Key(resource, namespace, name))
        return self._object(stored) if stored else None

    def list(self, resource: str, namespace: str = "") -> Iterator[Object]:
        return map(self._object, self._cache.list(resource, namespace))

    def _object(self, stored: Stored) -> Object:
        revision, obj = self._parsed.get(stored.key, (0, None))
        if obj is None or revision != stored.revision:
            if len(self._parsed) >= self._max_parsed:
                self._parsed.clear()
            obj = stored.object()
            if version := stored.fields.get(STORED_IN):
                obj["apiVersion"] = version
            self._parsed[stored.key] = (stored.revision, obj)
        return obj
