"""The pods of ReplicaSets by what is counted of them, kept as pods change.

A set of a thousand pods is looked at for each bundle of their news. All that its status says of a pod is a Shape, and
its pods have only a few: a look costs as many steps as there are shapes, and pods are walked only to be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controllers import children, pods
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_of,
    is_being_deleted,
    key_of,
    labels_of,
)
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta


class Shape(NamedTuple):
    """What two pods have to have in common to be counted as one."""

    is_terminal: bool
    is_being_deleted: bool
    is_ready: bool
    labels: tuple[tuple[str, str], ...]

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica (pods.is_active)."""
        return not self.is_terminal and not self.is_being_deleted

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted and still runs (pods.is_terminating)."""
        return self.is_being_deleted and not self.is_terminal


class Group(NamedTuple):
    """Pods of one shape."""

    shape: Shape
    pods: Sequence[Object]


_Place = tuple[str, Shape]  # the controller's uid, and the group among its own


class PodGroups:
    """The pods of each controller that was asked for and has any, by their shapes; follows an informer.

    Invariant: a pod of the informer whose controller is in `_groups` is in the one group that `_places` names, as it is
    now. Controllers of other kinds are never asked for, and cost a look at the reference.
    """

    def __init__(self, informer: Informer) -> None:
        self._informer = children.index(informer)
        self._places: dict[ObjectKey, _Place] = {}
        self._groups: dict[str, dict[Shape, dict[ObjectKey, Object]]] = {}  # no empty ones
        informer.add_handler(self._on_change)

    def of(self, owner_uid: str) -> list[Group]:
        """As they are now: what changes later is not seen in them."""
        if owner_uid not in self._groups:
            for pod in children.owned_by(self._informer, owner_uid):
                self._enter(key_of(pod), pod, owner_uid)
        groups = self._groups.get(owner_uid, {})
        return [Group(shape, list(members.values())) for shape, members in groups.items()]

    def _on_change(self, delta: Delta) -> None:
        key, pod = key_of(delta.obj), delta.new
        reference = None if pod is None else controller_of(pod)
        is_followed = reference is not None and reference.get("uid") in self._groups
        if key in self._places:
            self._leave(key)
        if pod is not None and reference is not None and is_followed:
            self._enter(key, pod, reference["uid"])

    def _enter(self, key: ObjectKey, pod: Object, owner_uid: str) -> None:
        shape = shape_of(pod)
        self._places[key] = owner_uid, shape
        self._groups.setdefault(owner_uid, {}).setdefault(shape, {})[key] = pod

    def _leave(self, key: ObjectKey) -> None:
        owner_uid, shape = self._places.pop(key)
        groups = self._groups[owner_uid]
        del groups[shape][key]
        if not groups[shape]:
            del groups[shape]
        if not groups:
            del self._groups[owner_uid]


def grouped(objects: Iterable[Object]) -> list[Group]:
    """Any pods, in groups."""
    groups: dict[Shape, list[Object]] = {}
    for pod in objects:
        groups.setdefault(shape_of(pod), []).append(pod)
    return [Group(shape, members) for shape, members in groups.items()]


def shape_of(pod: ReadOnlyObject) -> Shape:
    labels = tuple(labels_of(pod).items())
    return Shape(pods.is_terminal(pod), is_being_deleted(pod), pods.is_ready(pod), labels)
