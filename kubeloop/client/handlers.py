"""Who hears of which changes of an informer.

Dozens of loops in one process follow pods, and most of them mind only those of their own: of a pod's change the
controllers before and after it are looked at once, and nobody else is called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kubeloop.apimachinery.meta import Object, controller_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.store import Delta

Handler = Callable[[Delta], None]

MAX_ROUTES = 1000  # full: all are forgotten, and found anew


class Controlled(NamedTuple):
    """By what kind an object is controlled, as its owner reference spells it; by none where both are empty."""

    api_version: str
    kind: str

    def is_by(self, resource: Resource | None) -> bool:
        """Of that resource's group and kind, whatever the version; None: by nobody."""
        if resource is None:
            return self == _BY_NOBODY
        return self.kind == resource.kind and self.api_version.rpartition("/")[0] == resource.group


_BY_NOBODY = Controlled("", "")


class Handlers:
    """In the order they were added."""

    def __init__(self) -> None:
        self._all: list[tuple[Handler, Collection[Resource | None] | None]] = []
        self._routes: dict[tuple[Controlled, Controlled], Sequence[Handler]] = {}
        self._are_choosy = False
        self._each: Sequence[Handler] = ()

    def add(self, handler: Handler, controlled_by: Collection[Resource | None] | None) -> None:
        """`controlled_by`: by one of these kinds before the change or after it, None among them being nobody."""
        self._all.append((handler, controlled_by))
        self._are_choosy = self._are_choosy or controlled_by is not None
        self._each = [handler for handler, _ in self._all]
        self._routes.clear()

    def of(self, delta: Delta) -> Sequence[Handler]:
        """Those that want to hear of the change."""
        if not self._are_choosy:
            return self._each
        old, new = delta
        before = _controlled(old if old is not None else delta.obj)
        route = (before, before if new is None else _controlled(new))
        found = self._routes.get(route)
        return self._find(route) if found is None else found

    def _find(self, route: tuple[Controlled, Controlled]) -> Sequence[Handler]:
        if len(self._routes) >= MAX_ROUTES:
            self._routes.clear()
        found = self._routes[route] = [handler for handler, kinds in self._all if concerns(kinds, route)]
        return found


def concerns(kinds: Collection[Resource | None] | None, route: Collection[Controlled]) -> bool:
    return kinds is None or any(controlled.is_by(kind) for controlled in route for kind in kinds)


def _controlled(obj: Object) -> Controlled:
    reference = controller_of(obj)
    return (
        _BY_NOBODY if reference is None else Controlled(reference.get("apiVersion") or "", reference.get("kind") or "")
    )
