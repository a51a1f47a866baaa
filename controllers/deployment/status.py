"""A Deployment's counters and conditions from its ReplicaSets. Pure.

calculateStatus and syncRolloutStatus of pkg/controller/deployment, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from controllers.deployment.conditions import (
    AVAILABLE,
    REPLICA_FAILURE,
    Conditions,
    condition,
    with_condition,
)
from controllers.deployment.model import Rollout, SetState, total
from kubeloop.apimachinery.conditions import get_condition, without_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of

_COUNTERS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)


def counters(rollout: Rollout, new: SetState | None, old: Sequence[SetState]) -> Object:
    """The status without conditions."""
    sets = [*old, *([new] if new else [])]

    def counted(counter: str) -> int:
        return sum(replica_set.status.get(counter) or 0 for replica_set in sets)

    available = counted("availableReplicas")
    status: Object = {
        "observedGeneration": generation_of(rollout.obj),
        "replicas": counted("replicas"),
        "updatedReplicas": new.current if new else 0,
        "readyReplicas": counted("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(total(sets) - available, 0),
    }
    terminating = _terminating(sets)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    if "collisionCount" in rollout.status:
        status["collisionCount"] = rollout.status["collisionCount"]
    return status


def with_availability(rollout: Rollout, conditions: Conditions, status: ReadOnlyObject, now: datetime) -> Conditions:
    if status["availableReplicas"] >= rollout.min_available:
        message = "Deployment has minimum availability."
        return with_condition(conditions, condition(AVAILABLE, "True", "MinimumReplicasAvailable", message, now))
    message = "Deployment does not have minimum availability."
    return with_condition(conditions, condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now))


def with_replica_failure(conditions: Conditions, new: SetState | None, old: Sequence[SetState]) -> Conditions:
    """The ReplicaFailure of the new ReplicaSet, or else of an old one, handed on."""
    sets = [*([new] if new else []), *old]
    failures = (get_condition(replica_set.status.get("conditions") or [], REPLICA_FAILURE) for replica_set in sets)
    failure = next((failure for failure in failures if failure is not None), None)
    if failure is None:
        return without_condition(conditions, REPLICA_FAILURE)
    moment = failure.get("lastTransitionTime")
    told = {"reason": "", "message": "", **failure, "lastUpdateTime": moment, "lastTransitionTime": moment}
    return with_condition(conditions, told)


def differs(rollout: Rollout, status: ReadOnlyObject) -> bool:
    """Whether `status` says anything the stored one does not. Absent is 0, but for the two that may be absent."""
    stored = rollout.status
    return (
        any((stored.get(counter) or 0) != status[counter] for counter in _COUNTERS)
        or any(stored.get(counter) != status.get(counter) for counter in ("terminatingReplicas", "collisionCount"))
        or list(stored.get("conditions") or []) != status["conditions"]
    )


def _terminating(sets: Sequence[SetState]) -> int | None:
    """Pods on their way out; unknown as soon as one observed ReplicaSet does not tell."""
    known = [s.status.get("terminatingReplicas") for s in sets if "terminatingReplicas" in s.status or _is_observed(s)]
    return None if None in known else sum(count or 0 for count in known)


def _is_observed(replica_set: SetState) -> bool:
    return bool(replica_set.status.get("observedGeneration"))
