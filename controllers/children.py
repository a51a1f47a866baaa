"""Finding an owner's children in an informer: by the uid of their controller, and the orphans of a namespace.

One index serves every loop that owns things; `index` may be called by each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_of,
    key_of,
    labels_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import LabelSelector
from kubeloop.runtime.source import owner_keys

_BY_CONTROLLER = "by-controller"


def index(informer: Informer) -> Informer:
    """Makes `owned_by` and `orphans_in` work on this informer."""
    informer.add_index(_BY_CONTROLLER, _controller)
    return informer


def owned_by(informer: Informer, owner_uid: str) -> list[Object]:
    return informer.by_index(_BY_CONTROLLER, f"uid {owner_uid}")


def orphans_in(informer: Informer, namespace: str) -> list[Object]:
    """Those without a controller: somebody may adopt them."""
    return informer.by_index(_BY_CONTROLLER, f"none {namespace}")


def candidates(informer: Informer, owner: ReadOnlyObject) -> list[Object]:
    """The owner's own children, and the orphans it might adopt."""
    return [*owned_by(informer, uid_of(owner)), *orphans_in(informer, namespace_of(owner))]


def adopters(
    child: ReadOnlyObject, owners: Informer, selector_of: Callable[[Object], LabelSelector]
) -> list[ObjectKey]:
    """The owners that might adopt the child; none where it has a controller."""
    if controller_of(child) is not None:
        return []
    candidates = owners.list(namespace_of(child))
    return [key_of(owner) for owner in candidates if selector_of(owner).matches(labels_of(child))]


def owners_of(
    child: Object, resource: Resource, owners: Informer, selector_of: Callable[[Object], LabelSelector]
) -> Iterable[ObjectKey]:
    """The owner that controls the child, if it is of `resource`; or those that might adopt it."""
    if controller_of(child) is not None:
        return owner_keys(child, resource)
    return adopters(child, owners, selector_of)


def _controller(obj: Object) -> Iterable[str]:
    reference = controller_of(obj)
    return (f"uid {reference.get('uid')}" if reference else f"none {namespace_of(obj)}",)
