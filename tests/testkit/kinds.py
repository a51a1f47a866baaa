"""An object's way through its kind's strategy, without a server: sent, created, changed, refused."""

from __future__ import annotations

import copy
import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from apiserver.registry.strategy import Strategy
from apiserver.resources.conversions import CONVERSIONS
from apiserver.resources.services.cluster_ips import IP_ADDRESSES, SERVICE_CIDRS
from apiserver.resources.strategies import STRATEGIES
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.errors import AlreadyExists
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.service_addresses import SERVICE_RANGE
from tests.testkit.reader import DictReader

UID = "11111111-2222-3333-4444-555555555555"
CREATED = "2026-01-02T03:04:05Z"


@dataclass
class DictCluster:
    """Cluster over a DictReader; IPAddresses are the one kind that is kept."""

    reader: DictReader
    service_ranges: Sequence[str] = (SERVICE_RANGE,)
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    async def fresh(self) -> None:
        pass

    async def create(self, group: str, kind: str, obj: Object) -> None:
        if self.reader.get(IP_ADDRESSES, "", name_of(obj)) is not None:
            raise AlreadyExists.of("ipaddresses", group, name_of(obj))
        self.reader.put(IP_ADDRESSES, obj)

    async def delete(self, group: str, kind: str, namespace: str, name: str) -> None:
        if kind == "IPAddress":
            self.reader.remove(IP_ADDRESSES, namespace, name)


class KindOnTrial:
    """One kind of one API version, asked in the store's order."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        *stored: Object,
        listed_as: str = "",
        service_ranges: Sequence[str] = (SERVICE_RANGE,),
    ) -> None:
        self._group, _, version = api_version.rpartition("/")
        self._api_version, self._kind = api_version, kind
        self._codec = _schema().codec(self._group, version, kind)
        self._conversion = CONVERSIONS.get((self._group, version, kind))
        default = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": list(service_ranges)}}
        self.cluster = DictCluster(DictReader().put(listed_as, *stored).put(SERVICE_CIDRS, default), service_ranges)
        self.strategy: Strategy = STRATEGIES[self._group, kind]

    def sent(self, body: Object) -> Object:
        """What the server takes a body for: decoded, converted, defaults filled in."""
        metadata = {"name": "a", "namespace": "ns", "uid": UID, "creationTimestamp": CREATED}
        body = {**copy.deepcopy(body), "metadata": {**metadata, **body.get("metadata", {})}}
        obj = self._codec.decode({**body, "apiVersion": self._api_version, "kind": self._kind}).object
        if self._conversion is not None:
            obj = self._conversion.to_stored(obj)
        self.strategy.default(obj)
        return obj

    def created(self, body: Object) -> Object:
        """The object as it would be stored, checks left aside."""
        obj = self.sent(body)
        self.strategy.prepare_for_create(obj)
        self._allocate(obj, None)
        self.strategy.complete(obj)
        return obj

    def create_errors(self, body: Object) -> list[str]:
        return [str(error) for error in self.strategy.validate(self.created(body))]

    def changed(self, old: Object, change: dict[str, Any], subresource: str = "") -> Object:
        """`old` after a PATCH of `change`."""
        new = merged(old, change)
        self.strategy.default(new)
        self.strategy.update_rules(subresource).prepare(new, old)
        self._allocate(new, old)
        return new

    def removed(self, obj: Object) -> None:
        """`obj` is gone from storage."""
        at_once(self.strategy.removed(obj, self.cluster))

    def _allocate(self, new: Object, old: Object | None) -> None:
        at_once(at_once(self.strategy.allocate(new, old, self.cluster, dry_run=False)).commit())

    def change_errors(self, old: Object, change: dict[str, Any], subresource: str = "") -> list[str]:
        new = self.changed(old, change, subresource)
        return [str(error) for error in self.strategy.update_rules(subresource).validate(new, old)]


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def merged(old: Object, change: dict[str, Any]) -> Object:
    """A JSON merge patch."""
    new = copy.deepcopy(old)
    for name, value in change.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict) and isinstance(new.get(name), dict):
            new[name] = merged(new[name], value)
        else:
            new[name] = copy.deepcopy(value)
    return new


@cache
def _schema() -> Schema:
    return Schema.load("1.36")
