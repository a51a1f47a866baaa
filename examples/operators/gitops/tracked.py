"""The kinds that Applications have applied, watched: a source of the controller that grows as kinds come up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from examples.operators.gitops.application import TRACKING
from kubeloop.apimachinery.meta import Object, ObjectKey, annotations_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.runtime import Manager, Watches
from kubeloop.runtime.source import Source


def application_of(obj: Object) -> str:
    """`namespace/name` of the Application that applied it; empty where none did."""
    return annotations_of(obj).get(TRACKING) or ""


def application_keys(obj: Object) -> Iterable[ObjectKey]:
    namespace, _, name = application_of(obj).partition("/")
    return [ObjectKey(namespace, name)] if name else []


class Tracked:
    """One informer a kind, of the objects that bear the label; each change enqueues the Application it is part of."""

    def __init__(self, manager: Manager, add_source: Callable[[Source], None]) -> None:
        self._manager, self._add_source = manager, add_source
        self._informers: dict[Resource, Informer] = {}

    def watch(self, resource: Resource) -> None:
        if resource not in self._informers:
            informer = self._manager.informer(resource, label_selector=TRACKING)
            self._add_source(Watches(informer, application_keys))
            self._informers[resource] = informer

    def forget(self, api_version: str, kind: str) -> None:
        """The kind is not served any more. When it is again, `watch` begins anew."""
        for resource in [each for each in self._informers if (each.api_version, each.kind) == (api_version, kind)]:
            self._manager.drop_informer(self._informers.pop(resource))

    def find(self, resource: Resource, key: ObjectKey) -> Object | None:
        """The object as it was last seen; None says nothing: it may exist without the label, or not be known yet."""
        informer = self._informers.get(resource)
        return informer.get(key) if informer is not None and informer.has_synced else None
