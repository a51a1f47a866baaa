"""Pods whose victims are being removed right now: they are not tried again before that is done.

IsPodRunningPreemption of pkg/scheduler/framework/preemption/executor.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable

from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, uid_of


class PendingPreemptions:
    """By the preemptor's uid. `get_pod` looks into the cache of pods.

    The end of the last victim may be heard of before the request for it is answered. It has to find the preemptor
    waiting, so from then on the victim itself tells whether it is done.
    """

    def __init__(self, get_pod: Callable[[ObjectKey], Object | None] = lambda key: None) -> None:
        self._get_pod = get_pod
        self._last_victims: dict[str, PodInfo | None] = {}

    def begin(self, uid: str) -> None:
        self._last_victims[uid] = None

    def wait_for_last(self, uid: str, victim: PodInfo) -> None:
        """All others were asked to go."""
        self._last_victims[uid] = victim

    def end(self, uid: str) -> None:
        self._last_victims.pop(uid, None)

    def __contains__(self, uid: str) -> bool:
        if uid not in self._last_victims:
            return False
        victim = self._last_victims[uid]
        if victim is None:
            return True
        found = self._get_pod(victim.key)
        return found is not None and uid_of(found) == victim.uid and not is_being_deleted(found)
