"""The status of a StatefulSet from its pods. Pure. pkg/controller/statefulset, v1.36."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from controllers import pods
from controllers.stateful_set.identity import revision_of
from controllers.stateful_set.model import Revisions, SetSpec
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of, is_being_deleted

_COUNTERS = ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")
_NAMES = ("currentRevision", "updateRevision")


def compute(
    spec: SetSpec, revisions: Revisions, members: Sequence[ReadOnlyObject], now: datetime, going: int
) -> Object:
    """The whole status. `going`: pods just deleted for an update, which the cache still shows as they were."""
    ready = [pod for pod in members if is_running_and_ready(pod)]
    staying = [revision_of(pod) for pod in members if not is_being_deleted(pod)]
    status: Object = {
        "observedGeneration": generation_of(spec.obj),
        "replicas": len(members),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pods.is_available(pod, spec.min_ready_seconds, now) for pod in ready),
        "currentReplicas": max(staying.count(revisions.current_name) - going, 0),
        "updatedReplicas": staying.count(revisions.update_name),
        "currentRevision": revisions.current_name,
        "updateRevision": revisions.update_name,
        "collisionCount": revisions.collision_count,
    }
    return _completed(status) if _is_complete(spec, status) else status


def differs(spec: SetSpec, status: ReadOnlyObject) -> bool:
    """Whether `status` says anything the stored one does not."""
    stored = spec.status
    return (
        status["observedGeneration"] > (stored.get("observedGeneration") or 0)
        or any((stored.get(counter) or 0) != status[counter] for counter in _COUNTERS)
        or any((stored.get(name) or "") != status[name] for name in _NAMES)
    )


def is_running_and_ready(pod: ReadOnlyObject) -> bool:
    return pods.phase_of(pod) == "Running" and pods.is_ready(pod)


def _is_complete(spec: SetSpec, status: ReadOnlyObject) -> bool:
    counted = {status["updatedReplicas"], status["readyReplicas"], status["replicas"]}
    return spec.is_rolling and counted == {spec.replicas}


def _completed(status: Object) -> Object:
    """The update is over: what was new is what the pods have."""
    return {**status, "currentReplicas": status["updatedReplicas"], "currentRevision": status["updateRevision"]}
