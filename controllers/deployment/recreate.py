"""Recreate: the old pods all go before the first new one comes.

pkg/controller/deployment/recreate.go, v1.36. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controllers import pods
from controllers.deployment.model import Rollout, Scale, SetState, active
from kubeloop.apimachinery.meta import ReadOnlyObject


def scale_down(old: Sequence[SetState]) -> list[Scale]:
    return [Scale(replica_set.name, 0) for replica_set in active(old)]


def old_pods_run(old: Sequence[SetState], old_pods: Iterable[ReadOnlyObject]) -> bool:
    """Whether any pod of an old ReplicaSet is left, terminating ones included: then the new ones must wait."""
    return any(replica_set.current > 0 for replica_set in old) or any(not pods.is_terminal(pod) for pod in old_pods)


def scale_up(rollout: Rollout, new: SetState) -> list[Scale]:
    return [] if new.replicas == rollout.replicas else [Scale(new.name, rollout.replicas)]
