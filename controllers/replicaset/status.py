"""The status of a ReplicaSet (or ReplicationController) from its pods. Pure.

Follows calculateStatus and updateReplicaSetStatus of pkg/controller/replicaset (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from controllers import pods
from controllers.replicaset.groups import Group
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of
from kubeloop.apimachinery.times import format_time

REPLICA_FAILURE = "ReplicaFailure"


def compute(
    owner: ReadOnlyObject,
    active: Sequence[Group],
    terminating: int | None,
    failure: Exception | None,
    now: datetime,
) -> Object:
    """The whole status. `terminating` is None for kinds that do not count them; `failure`: why pods are missing.

    Pods are looked at one by one only where they have to be ready for some time.
    """
    spec = owner["spec"]
    min_ready_seconds = spec.get("minReadySeconds") or 0
    wanted_labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    ready = [group for group in active if group.shape.is_ready]
    available = count(ready)
    if min_ready_seconds:
        available = sum(pods.is_available(pod, min_ready_seconds, now) for group in ready for pod in group.pods)
    status: Object = {
        "replicas": count(active),
        "fullyLabeledReplicas": count(group for group in active if wanted_labels.items() <= set(group.shape.labels)),
        "readyReplicas": count(ready),
        "availableReplicas": available,
        "observedGeneration": generation_of(owner),
    }
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    conditions = _conditions(owner, count(active), failure, now)
    if conditions:
        status["conditions"] = conditions
    return status


def count(groups: Iterable[Group]) -> int:
    """How many pods they are."""
    return sum(len(group.pods) for group in groups)


def differs(owner: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    """Whether `status` says anything the stored one does not. Absent is 0, but for terminatingReplicas."""
    stored = owner.get("status") or {}
    counters = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
    return (
        any((stored.get(field) or 0) != status[field] for field in counters)
        or stored.get("terminatingReplicas") != status.get("terminatingReplicas")
        or list(stored.get("conditions") or []) != status.get("conditions", [])
    )


def seconds_to_next_availability(
    owner: ReadOnlyObject, status: ReadOnlyObject, active: Sequence[Group], now: datetime
) -> float | None:
    """When to look again because a ready pod will have been ready for minReadySeconds; None if nothing is awaited."""
    min_ready_seconds = owner["spec"].get("minReadySeconds") or 0
    if min_ready_seconds <= 0 or status["readyReplicas"] == status["availableReplicas"]:
        return None
    each = (pod for group in active for pod in group.pods)
    wait = pods.seconds_to_next_availability(each, min_ready_seconds, now)
    return float(min_ready_seconds) if wait is None else wait


def _conditions(owner: ReadOnlyObject, active: int, failure: Exception | None, now: datetime) -> list[Object]:
    """The stored conditions with ReplicaFailure added or taken away; a failure already told is not told anew."""
    stored = list((owner.get("status") or {}).get("conditions") or [])
    told = any(condition.get("type") == REPLICA_FAILURE for condition in stored)
    if failure is None:
        return [condition for condition in stored if condition.get("type") != REPLICA_FAILURE]
    if told:
        return stored
    surplus = active - (owner["spec"].get("replicas") or 0)
    condition: Object = {
        "type": REPLICA_FAILURE,
        "status": "True",
        "lastTransitionTime": format_time(now),
        "message": str(failure),
    }
    if surplus:
        condition["reason"] = "FailedCreate" if surplus < 0 else "FailedDelete"
    return [*stored, condition]
