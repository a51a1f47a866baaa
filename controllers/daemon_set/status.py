"""The status of a DaemonSet from its pods, node by node. Pure. pkg/controller/daemon, v1.36."""

from __future__ import annotations

from controllers import pods
from controllers.daemon_set.model import DaemonSpec, Situation
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of


def compute(situation: Situation, *, has_acted: bool) -> Object:
    """The whole status; of several pods on a node the oldest counts.

    Where nothing was done about the present spec, because the cache is behind, it is not said to be observed.
    """
    wanted = [node for node, placement in situation.placements.items() if placement.should_run]
    unwanted = [node for node, placement in situation.placements.items() if not placement.should_run]
    counted = [situation.on(node)[0] for node in wanted if situation.on(node)]
    available = sum(situation.is_available(pod) for pod in counted)
    stored = situation.spec.status
    return {
        **stored,
        "observedGeneration": generation_of(situation.spec.obj) if has_acted else stored.get("observedGeneration") or 0,
        "desiredNumberScheduled": len(wanted),
        "currentNumberScheduled": len(counted),
        "numberMisscheduled": sum(bool(situation.on(node)) for node in unwanted),
        "numberReady": sum(pods.is_ready(pod) for pod in counted),
        "updatedNumberScheduled": sum(situation.is_updated(pod) for pod in counted),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }


def differs(spec: DaemonSpec, status: ReadOnlyObject) -> bool:
    """Whether `status` says anything the stored one does not."""
    return any((spec.status.get(field) or 0) != value for field, value in status.items() if isinstance(value, int))
