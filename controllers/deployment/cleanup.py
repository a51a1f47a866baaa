"""Old ReplicaSets beyond revisionHistoryLimit: the lowest revisions go, once they are empty for sure. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.deployment.model import Rollout, SetState
from controllers.deployment.revisions import revision_of
from kubeloop.apimachinery.meta import generation_of, is_being_deleted


def plan(rollout: Rollout, old: Sequence[SetState]) -> list[str]:
    """The names of the ReplicaSets to delete."""
    limit = rollout.revision_history_limit
    if limit is None:
        return []
    kept = [replica_set for replica_set in old if not is_being_deleted(replica_set.obj)]
    surplus = max(len(kept) - limit, 0)
    lowest_first = sorted(kept, key=lambda replica_set: (revision_of(replica_set) or 0, replica_set.age))
    return [replica_set.name for replica_set in lowest_first[:surplus] if _is_empty(replica_set)]


def _is_empty(replica_set: SetState) -> bool:
    observed = replica_set.status.get("observedGeneration") or 0
    return not replica_set.current and not replica_set.replicas and generation_of(replica_set.obj) <= observed
