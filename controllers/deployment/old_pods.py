"""The pods that a Recreate Deployment waits for, followed from the first time that one asks.

RollingUpdate reads counts of ReplicaSets alone, and most clusters have nothing else: then no pod reaches this loop.
Upstream follows pods from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers import children
from controllers.deployment.model import SetState
from controllers.pods import is_terminal
from kubeloop.apimachinery.meta import Object, owner_references_of
from kubeloop.client.informer import Informer


class OldPods:
    """`follow` makes the informer of pods and sees to it that their changes wake the loop."""

    def __init__(self, follow: Callable[[], Informer]) -> None:
        self._follow = follow
        self._pods: Informer | None = None

    def of(self, sets: Iterable[SetState]) -> dict[str, list[Object]] | None:
        """By the uid of their ReplicaSet; None while they are not known yet."""
        if self._pods is None:
            self._pods = children.index(self._follow())
        if not self._pods.has_synced:
            return None
        return {replica_set.uid: children.owned_by(self._pods, replica_set.uid) for replica_set in sets}


def is_waited_for(old: Object, new: Object) -> bool:
    """Whether a pod has ended, or has become another's."""
    return is_terminal(old) != is_terminal(new) or owner_references_of(old) != owner_references_of(new)
