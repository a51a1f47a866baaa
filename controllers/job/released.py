"""Pods whose tracking finalizer this loop took off, while the cache may still show it: they are not counted again."""

from __future__ import annotations

from controllers.job.model import is_tracked
from kubeloop.apimachinery.meta import uid_of
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta


class Released:
    """One uid for each removal not yet seen: the pods in the cache bound it."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    @property
    def uids(self) -> frozenset[str]:
        return frozenset(self._uids)

    def expect(self, uid: str) -> None:
        """Call before the request, and `forget` where it fails."""
        self._uids.add(uid)

    def forget(self, uid: str) -> None:
        self._uids.discard(uid)

    def follow(self, pods: Informer) -> None:
        """Forget a pod once the cache shows it without the finalizer, or no longer at all."""

        def on_change(delta: Delta) -> None:
            if self._uids and (delta.new is None or not is_tracked(delta.new)):
                self.forget(uid_of(delta.obj))

        pods.add_handler(on_change)
