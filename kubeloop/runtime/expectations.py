"""What a loop has asked for and not yet seen in its cache.

The cache lags behind the loop's own writes; a loop that counts pods must not act again before the pods it just made
show up. It raises an expectation before it writes, its informer handlers lower it, and until then it leaves the key
alone. After five minutes an expectation counts as met: a lost observation costs a delay, never a stuck controller.
Semantics of ControllerExpectations and UIDTrackingControllerExpectations in pkg/controller/controller_utils.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import ObjectKey, is_being_deleted
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.source import owner_keys

EXPIRY_SECONDS = 300.0


@dataclass(slots=True)
class _Expected:
    since: float
    creations: int = 0
    deletions: dict[str, None] = field(default_factory=dict)  # ordered set of whatever identifies a child


class Expectations:
    """Held for keys that wrote something and have not been forgotten: the number of owners bounds it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[ObjectKey, _Expected] = {}

    def expect_creations(self, key: ObjectKey, count: int) -> None:
        """Call before the writes; call `creation_observed` for each that fails."""
        self._fresh(key).creations += count

    def expect_deletions(self, key: ObjectKey, children: Iterable[str]) -> None:
        """`children`: uids, or other text that `deletion_observed` will repeat."""
        self._fresh(key).deletions.update(dict.fromkeys(children))

    def creation_observed(self, key: ObjectKey) -> None:
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= 1

    def deletion_observed(self, key: ObjectKey, child: str) -> None:
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.pop(child, None)

    def satisfied(self, key: ObjectKey) -> bool:
        """Whether the cache shows everything this key asked for (or it has been waited for long enough)."""
        expected = self._expected.get(key)
        return expected is None or self._is_met(expected) or self._is_expired(expected)

    def forget(self, key: ObjectKey) -> None:
        """The owner is gone."""
        self._expected.pop(key, None)

    def follow(self, children: Informer, owner_resource: Resource) -> None:
        """Lower expectations as children of `owner_resource` appear in and vanish from the cache.

        A deletion counts as seen once the child is terminating: it will not come back. Children are told by uid.
        """

        def on_change(delta: Delta) -> None:
            old, new = delta
            for key in owner_keys(delta.obj, owner_resource):
                uid = delta.obj["metadata"].get("uid", "")
                if old is None:
                    self.creation_observed(key)
                if new is None or is_being_deleted(new):
                    self.deletion_observed(key, uid)

        children.add_handler(on_change, controlled_by=[owner_resource])

    def _fresh(self, key: ObjectKey) -> _Expected:
        """The record to add to: a new one where the last is met or expired, as SetExpectations does."""
        expected = self._expected.get(key)
        if expected is None or self._is_met(expected) or self._is_expired(expected):
            expected = self._expected[key] = _Expected(self._clock.monotonic())
        return expected

    def _is_met(self, expected: _Expected) -> bool:
        return expected.creations <= 0 and not expected.deletions

    def _is_expired(self, expected: _Expected) -> bool:
        return self._clock.monotonic() - expected.since > EXPIRY_SECONDS
