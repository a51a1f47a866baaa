"""A Deployment whose replica count changed, or which is paused: sizes change, the rollout does not move on.

With one active ReplicaSet it takes all of the change. In the middle of a rollout the difference is shared out by size,
so that a rollout which waits (or is stuck) keeps its proportions. pkg/controller/deployment/sync.go, v1.36. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from controllers.deployment.model import Rollout, Scale, SetState, active, total
from controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS


def is_scaled(rollout: Rollout, sets: Sequence[SetState]) -> bool:
    """Whether an active ReplicaSet was last sized for another replica count than the Deployment's."""
    noted = (_count(replica_set, DESIRED_REPLICAS) for replica_set in active(sets))
    return any(desired is not None and desired != rollout.replicas for desired in noted)


def plan(rollout: Rollout, new: SetState | None, old: Sequence[SetState]) -> list[Scale]:
    only = _only_active_or_newest(new, old)
    if only is not None:
        return [] if only.replicas == rollout.replicas else [Scale(only.name, rollout.replicas)]
    if new is not None and _is_saturated(rollout, new):
        return [Scale(replica_set.name, 0) for replica_set in active(old)]
    sets = active([*old, *([new] if new else [])])
    return _proportional(rollout, sets) if sets and rollout.is_rolling else []


def _only_active_or_newest(new: SetState | None, old: Sequence[SetState]) -> SetState | None:
    """The one that takes all of the change; None where several have pods (or there is none at all)."""
    candidates = [*old, *([new] if new else [])]
    having_pods = active(candidates)
    if len(having_pods) == 1:
        return having_pods[0]
    if having_pods or not candidates:
        return None
    return new or max(old, key=lambda replica_set: replica_set.age)


def _is_saturated(rollout: Rollout, new: SetState) -> bool:
    desired = _count(new, DESIRED_REPLICAS)
    return new.replicas == desired == new.available == rollout.replicas


def _proportional(rollout: Rollout, sets: Sequence[SetState]) -> list[Scale]:
    """Sizes so that together they are what the rollout may have; what rounding leaves over goes to the largest."""
    allowed = rollout.max_replicas if rollout.replicas > 0 else 0
    change = allowed - total(sets)
    if change > 0:  # the largest first, of equal ones the newest
        ordered = sorted(sorted(sets, key=lambda s: s.age, reverse=True), key=lambda s: -s.replicas)
    elif change < 0:  # the largest first, of equal ones the oldest
        ordered = sorted(sets, key=lambda s: (-s.replicas, s.age))
    else:
        return [Scale(replica_set.name, replica_set.replicas, refresh=True) for replica_set in sets]
    shares: list[int] = []
    for replica_set in ordered:
        left = change - sum(shares)
        share = _share(rollout, replica_set)
        shares.append(min(share, left) if change > 0 else max(share, left))
    shares[0] += change - sum(shares)
    return [
        Scale(replica_set.name, max(replica_set.replicas + share, 0), refresh=True)
        for replica_set, share in zip(ordered, shares, strict=True)
    ]


def _share(rollout: Rollout, replica_set: SetState) -> int:
    """By how much a ReplicaSet changes if it keeps its part of the whole."""
    if rollout.replicas == 0:
        return -replica_set.replicas
    before = _count(replica_set, MAX_REPLICAS) or rollout.status.get("replicas") or 0
    if before == 0:
        return 0
    return _round_half_away(replica_set.replicas * rollout.max_replicas / before) - replica_set.replicas


def _round_half_away(number: float) -> int:
    return math.floor(number + 0.5) if number >= 0 else math.ceil(number - 0.5)


def _count(replica_set: SetState, annotation: str) -> int | None:
    """A number noted in an annotation; None where somebody took it away or spoilt it."""
    text = replica_set.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) < 2**31 else None
