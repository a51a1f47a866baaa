"""When a ReplicaSet is looked at: at once when it was changed, and after its pods were the later, the more it has.

Whoever has a thousand pods walks them all; their news come one by one, and are gathered for a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers import pods
from kubeloop.apimachinery.meta import Object, ObjectKey, generation_of, key_of
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.source import owner_keys
from kubeloop.runtime.workqueue import LOW_PRIORITY

_SECONDS_A_REPLICA = 0.0001
_LONGEST_SECONDS = 0.1
_SHORTEST_SECONDS = 0.002  # less is not worth a timer


def wake(
    controller: Controller,
    resource: Resource,
    owners: Informer,
    pod_informer: Informer,
    keys_for_orphan: Callable[[Object], Iterable[ObjectKey]],
) -> None:
    """From now on, and for what is known already. `resource` is the owners'."""

    def patience(key: ObjectKey) -> float:
        owner = owners.get(key)
        replicas = (owner["spec"].get("replicas") or 0) if owner is not None else 0
        seconds = min(replicas * _SECONDS_A_REPLICA, _LONGEST_SECONDS)
        return seconds if seconds >= _SHORTEST_SECONDS else 0.0

    def on_owner(delta: Delta) -> None:
        """What changed with the generation is told at once; a status is most often its own."""
        old, new = delta
        is_urgent = old is None or new is None or generation_of(old) != generation_of(new)
        key = key_of(delta.obj)
        controller.enqueue_after(key, 0 if is_urgent else patience(key), _priority(owners))

    def on_pod(delta: Delta) -> None:
        old, new = delta
        if old is not None and new is not None and not pods.counts_otherwise(old, new):
            return
        keys = {key for pod in delta if pod is not None for key in (*owner_keys(pod, resource), *keys_for_orphan(pod))}
        for key in sorted(keys):
            controller.enqueue_after(key, patience(key), _priority(pod_informer))

    def look_at_all() -> None:
        """Something was listed anew: what happened meanwhile may be in no news."""
        for key in owners.object_keys():
            controller.enqueue(key, LOW_PRIORITY)

    for informer, handler in ((owners, on_owner), (pod_informer, on_pod)):
        informer.add_handler(handler)
        informer.add_relist_handler(look_at_all)


def _priority(informer: Informer) -> int:
    """What was there before the loop started can wait for what changes."""
    return 0 if informer.has_synced else LOW_PRIORITY
