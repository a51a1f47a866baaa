"""For how long a ReplicaSet's news are gathered: the longer, the more replicas it has, and the longer a look takes."""

from __future__ import annotations

from controllers.gathering import Patience
from kubeloop.apimachinery.meta import ObjectKey
from kubeloop.client.informer import Informer

_SECONDS_A_REPLICA = 0.0001
_LONGEST_SECONDS = 0.1
_SHORTEST_SECONDS = 0.002  # less is not worth a timer


def patience_with(owners: Informer) -> Patience:
    def patience(key: ObjectKey) -> float:
        owner = owners.get(key)
        replicas = (owner["spec"].get("replicas") or 0) if owner is not None else 0
        seconds = min(replicas * _SECONDS_A_REPLICA, _LONGEST_SECONDS)
        return seconds if seconds >= _SHORTEST_SECONDS else 0.0

    return patience
