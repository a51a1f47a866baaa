"""EndpointSlices as the loops that write them see them.

`SliceTracker` keeps a loop from acting on a cache that lacks its own last writes, or it would publish an endpoint twice
(EndpointSliceTracker of k8s.io/endpointslice/util, v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    generation_of,
    is_being_deleted,
    labels_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import ENDPOINT_SLICES
from kubeloop.apimachinery.validation import dns_subdomain_errors
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"

_BY_SERVICE = "by-service"

EndpointIdentity = tuple[Any, ...]


def index(informer: Informer) -> Informer:
    """Makes `of_service` work on this informer."""
    informer.add_index(_BY_SERVICE, lambda obj: (str(service_key(obj)),))
    return informer


def of_service(informer: Informer, key: ObjectKey, manager: str) -> list[Object]:
    """A Service's slices that `manager` writes, without those on their way out."""
    found = informer.by_index(_BY_SERVICE, str(key))
    return [obj for obj in found if labels_of(obj).get(MANAGED_BY) == manager and not is_being_deleted(obj)]


def service_key(endpoint_slice: ReadOnlyObject) -> ObjectKey:
    """The Service a slice is about; a slice without the label names none ("")."""
    return ObjectKey(namespace_of(endpoint_slice), labels_of(endpoint_slice).get(SERVICE_NAME, ""))


def name_prefix(service_name: str) -> str:
    prefix = f"{service_name}-"
    return service_name if dns_subdomain_errors(prefix, is_prefix=True) else prefix


def endpoint_identity(endpoint: Mapping[str, Any]) -> EndpointIdentity:
    """What makes an endpoint the same one whatever its conditions: addresses, hostname and target."""
    referred = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint.get("addresses") or ())),
        endpoint.get("hostname") or "",
        referred.get("namespace") or "",
        referred.get("name") or "",
    )


def is_same_endpoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two endpoints of one identity say the same (hints and a pod's version aside)."""

    def compared(endpoint: Mapping[str, Any]) -> tuple[Any, ...]:
        conditions = endpoint.get("conditions") or {}
        referred = {k: v for k, v in (endpoint.get("targetRef") or {}).items() if k != "resourceVersion"}
        state = tuple(conditions.get(name) for name in ("ready", "serving", "terminating"))
        return (endpoint.get("nodeName"), endpoint.get("zone"), state, referred)

    return compared(one) == compared(other)


def ports_key(ports: Iterable[Mapping[str, Any]] | None) -> tuple[Any, ...]:
    """A slice's ports as something to group by; order does not matter."""
    fields = ("name", "protocol", "port", "appProtocol")
    return tuple(sorted(tuple(str(port.get(field)) for field in fields) for port in ports or ()))


def _whose(endpoint_slice: ReadOnlyObject) -> tuple[ObjectKey, str | None]:
    return service_key(endpoint_slice), labels_of(endpoint_slice).get(MANAGED_BY)


class SliceTracker:
    """For each Service the generations last written. Services that are gone are to be forgotten."""

    def __init__(self) -> None:
        self._written: dict[ObjectKey, dict[str, int]] = {}
        self._deleted: dict[ObjectKey, set[str]] = {}

    def wrote(self, key: ObjectKey, endpoint_slice: ReadOnlyObject) -> None:
        self._written.setdefault(key, {})[uid_of(endpoint_slice)] = generation_of(endpoint_slice)

    def has_written(self, key: ObjectKey, endpoint_slice: ReadOnlyObject) -> bool:
        """Whether it is as we left it."""
        return self._written.get(key, {}).get(uid_of(endpoint_slice)) == generation_of(endpoint_slice)

    def deleted(self, key: ObjectKey, endpoint_slice: ReadOnlyObject) -> None:
        uid = uid_of(endpoint_slice)
        self._written.get(key, {}).pop(uid, None)
        self._deleted.setdefault(key, set()).add(uid)

    def saw(self, delta: Delta) -> None:
        """A slice that the cache has lost, or that somebody gave to another Service or manager, is not waited for."""
        old, new = delta
        if old is None or (new is not None and _whose(old) == _whose(new)):
            return
        key, uid = service_key(old), uid_of(old)
        self._written.get(key, {}).pop(uid, None)
        self._deleted.get(key, set()).discard(uid)

    def check_fresh(self, key: ObjectKey, cached: Sequence[ReadOnlyObject]) -> None:
        """Conflict where the cache does not show the last writes yet: try again shortly."""
        generations = {uid_of(obj): generation_of(obj) for obj in cached}
        behind = any(generations.get(uid, -1) < generation for uid, generation in self._written.get(key, {}).items())
        if behind or self._deleted.get(key, set()) & generations.keys():
            raise Conflict.of(ENDPOINT_SLICES.plural, ENDPOINT_SLICES.group, key.name, "the cache is out of date")

    def forget(self, key: ObjectKey) -> None:
        self._written.pop(key, None)
        self._deleted.pop(key, None)
