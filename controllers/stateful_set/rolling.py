"""Which pods are deleted so that they come back with the new template. Pure.

From the highest ordinal down to the partition. Without maxUnavailable one at a time, each only when all above it are
available; a pod below that is not available does not matter then. With it, as many as keep within the limit, all
unavailable pods of the set counted. updateStatefulSet of pkg/controller/statefulset, v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from controllers import pods
from controllers.stateful_set.identity import revision_of
from controllers.stateful_set.model import SetSpec
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted, uid_of


def plan(
    spec: SetSpec, replicas: Sequence[Object], going: Collection[str], update_revision: str, now: datetime
) -> list[Object]:
    """`replicas`: one pod for each ordinal, ascending; `going`: uids of those that are to be deleted anyway."""

    def is_leaving(pod: ReadOnlyObject) -> bool:
        return is_being_deleted(pod) or uid_of(pod) in going

    def is_unavailable(pod: ReadOnlyObject) -> bool:
        return is_leaving(pod) or not pods.is_available(pod, spec.min_ready_seconds, now)

    def is_outdated(pod: ReadOnlyObject) -> bool:
        return revision_of(pod) != update_revision and not is_leaving(pod)

    from_the_top = list(reversed(replicas[spec.partition or 0 :]))
    if spec.max_unavailable is not None:
        spare = spec.max_unavailable - sum(map(is_unavailable, replicas))
        return [pod for pod in from_the_top if is_outdated(pod)][: max(spare, 0)]
    first = next((pod for pod in from_the_top if is_outdated(pod) or is_unavailable(pod)), None)
    return [first] if first is not None and is_outdated(first) else []
