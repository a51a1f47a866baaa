"""Which autoscalers select which pods: two over one pod would undo each other's work, so both stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, labels_of
from kubeloop.apimachinery.selectors import Selector


class Selecting:
    """The selector of each autoscaler, as it was when its target was last asked for metrics."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[str, Selector]] = {}  # by namespace and name; `forget` bounds it

    def put(self, key: ObjectKey, selector: Selector) -> None:
        self._selectors.setdefault(key.namespace, {})[key.name] = selector

    def forget(self, key: ObjectKey) -> None:
        others = self._selectors.get(key.namespace, {})
        others.pop(key.name, None)
        if not others:
            self._selectors.pop(key.namespace, None)

    def over(self, namespace: str, pods: Iterable[ReadOnlyObject]) -> Sequence[ObjectKey]:
        """The autoscalers that select any of these pods, in order."""
        labels = [labels_of(pod) for pod in pods]
        selectors = self._selectors.get(namespace, {})
        found = [name for name, selector in selectors.items() if any(map(selector.matches, labels))]
        return [ObjectKey(namespace, name) for name in sorted(found)]
