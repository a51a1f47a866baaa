"""The Progressing condition: paused, new, on its way, complete or overdue. Pure.

pkg/controller/deployment/progress.go and checkPausedConditions of sync.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controllers.deployment.conditions import (
    PROGRESSING,
    Conditions,
    condition,
    reason_of,
    with_condition,
    with_refreshed,
)
from controllers.deployment.model import Rollout, SetState
from kubeloop.apimachinery.conditions import get_condition, without_condition
from kubeloop.apimachinery.meta import generation_of, name_of
from kubeloop.apimachinery.times import seconds_since

COMPLETE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"

Status = Mapping[str, Any]


def paused_or_resumed(rollout: Rollout, conditions: Conditions, now: datetime) -> Conditions:
    """Notes that the Deployment was paused or resumed, so that time spent paused never counts as lack of progress."""
    reason = reason_of(conditions, PROGRESSING)
    if rollout.progress_deadline_seconds is None or reason == TIMED_OUT:
        return conditions
    if rollout.is_paused and reason != PAUSED:
        paused = condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
        return with_condition(conditions, paused)
    if not rollout.is_paused and reason == PAUSED:
        resumed = condition(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
        return with_condition(conditions, resumed)
    return conditions


def created(rollout: Rollout, conditions: Conditions, new: SetState, now: datetime) -> Conditions:
    if rollout.progress_deadline_seconds is None:
        return conditions
    message = f'Created new replica set "{new.name}"'
    return with_condition(conditions, condition(PROGRESSING, "True", "NewReplicaSetCreated", message, now))


def found(rollout: Rollout, conditions: Conditions, new: SetState, now: datetime) -> Conditions:
    """A ReplicaSet that was there before anybody asked for progress."""
    if rollout.progress_deadline_seconds is None or get_condition(conditions, PROGRESSING) is not None:
        return conditions
    message = f'Found new replica set "{new.name}"'
    return with_condition(conditions, condition(PROGRESSING, "True", "FoundNewReplicaSet", message, now))


def creation_failed(rollout: Rollout, conditions: Conditions, message: str, now: datetime) -> Conditions:
    if rollout.progress_deadline_seconds is None:
        return conditions
    return with_condition(conditions, condition(PROGRESSING, "False", "ReplicaSetCreateError", message, now))


def estimated(
    rollout: Rollout, conditions: Conditions, status: Status, new: SetState | None, now: datetime
) -> Conditions:
    """What a rollout's new counters say about its progress, against those of the stored status."""
    if rollout.progress_deadline_seconds is None:
        return without_condition(conditions, PROGRESSING)
    current = get_condition(conditions, PROGRESSING)
    if status["replicas"] == status["updatedReplicas"] and reason_of(conditions, PROGRESSING) == COMPLETE:
        return conditions
    who = f'ReplicaSet "{new.name}"' if new else f'Deployment "{name_of(rollout.obj)}"'
    if is_complete(rollout, status):
        message = f"{who} has successfully progressed."
        return with_condition(conditions, condition(PROGRESSING, "True", COMPLETE, message, now))
    if _has_progressed(rollout.status, status):
        moved = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{who} is progressing.", now)
        return with_refreshed(conditions, moved)
    if current is not None and _is_overdue(rollout, current, now):
        message = f"{who} has timed out progressing."
        return with_condition(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now))
    return conditions


def is_complete(rollout: Rollout, status: Status) -> bool:
    """Whether every wanted replica is new and available, and none other is left."""
    counters = ("updatedReplicas", "replicas", "availableReplicas")
    return all((status.get(counter) or 0) == rollout.replicas for counter in counters) and (
        (status.get("observedGeneration") or 0) >= generation_of(rollout.obj)
    )


def seconds_to_deadline(rollout: Rollout, status: Status, now: datetime) -> float | None:
    """When to look whether an unfinished rollout is overdue; None where nothing is to be found out."""
    current = get_condition(status.get("conditions") or [], PROGRESSING)
    deadline = rollout.progress_deadline_seconds
    if deadline is None or current is None or is_complete(rollout, status) or current.get("reason") == TIMED_OUT:
        return None
    left = deadline - seconds_since(current["lastUpdateTime"], now)
    return max(left, 0.0) + 1.0  # written times are cut to whole seconds


def _has_progressed(before: Status, after: Status) -> bool:
    def count(status: Status, counter: str) -> int:
        return status.get(counter) or 0

    def old_replicas(status: Status) -> int:
        return count(status, "replicas") - count(status, "updatedReplicas")

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old_replicas(after) < old_replicas(before) or any(count(after, c) > count(before, c) for c in grown)


def _is_overdue(rollout: Rollout, current: Mapping[str, Any], now: datetime) -> bool:
    if current.get("reason") == COMPLETE:
        return False
    if current.get("reason") == TIMED_OUT:
        return True
    deadline = rollout.progress_deadline_seconds or 0
    return seconds_since(current["lastUpdateTime"], now) > deadline
