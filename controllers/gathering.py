"""What wakes the owners of many pods. News of these come in bunches, and each look at an owner walks all it has.

So news are gathered for a while. A new spec is looked at at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubeloop.apimachinery.meta import ObjectKey, generation_of
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.predicates import Predicate
from kubeloop.runtime.source import For, MapToKeys, Source, Watches

# For how many seconds news of an owner's pods, and of its own status, are gathered.
Patience = Callable[[ObjectKey], float]


def sources(
    owners: Informer, pods: Informer, owners_of: MapToKeys, patience: Patience, of_pods: Sequence[Predicate] = ()
) -> list[Source]:
    """`owners_of` a pod that one of them controls, or nobody; `of_pods`: the changes of pods that count."""

    def after_owner(key: ObjectKey, delta: Delta) -> float:
        """What changed with the generation is told at once; a status is most often the loop's own."""
        old, new = delta
        is_urgent = old is None or new is None or generation_of(old) != generation_of(new)
        return 0 if is_urgent else patience(key)

    def after_pod(key: ObjectKey, _: Delta) -> float:
        return patience(key)

    kinds = (owners.scope.resource, None)
    return [
        For(owners, delay=after_owner),
        Watches(pods, owners_of, of_pods, delay=after_pod, controlled_by=kinds),
    ]
