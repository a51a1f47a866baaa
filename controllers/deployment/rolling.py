"""RollingUpdate: up if the surge allows, else down if availability allows; never both, so status shows each step.

pkg/controller/deployment/rolling.go, v1.36. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from controllers.deployment.model import Rollout, Scale, SetState, active, total


def plan(rollout: Rollout, new: SetState, old: Sequence[SetState]) -> list[Scale]:
    """The next steps of a rollout; none means that it is done or must wait for pods."""
    if new.replicas != rollout.replicas:
        wanted = new_replicas(rollout, new, old)
        if wanted != new.replicas:
            return [Scale(new.name, wanted)]
    return scale_down(rollout, new, active(old))


def new_replicas(rollout: Rollout, new: SetState, old: Sequence[SetState]) -> int:
    """How many replicas the new ReplicaSet may have now: what the surge leaves, and never more than are wanted."""
    if new.replicas > rollout.replicas:
        return rollout.replicas
    room = rollout.max_replicas - total([new, *old])
    if room <= 0:
        return new.replicas
    return min(new.replicas + room, rollout.replicas)


def scale_down(rollout: Rollout, new: SetState, old: Sequence[SetState]) -> list[Scale]:
    """What the old ReplicaSets (active ones) may lose.

    Unavailable pods of the new ReplicaSet count as lost already, so a new template that never becomes ready does not
    eat the old pods up. Within that budget unhealthy old pods go first: they help nobody, and would block the rollout.
    """
    if not old:
        return []
    new_unavailable = new.replicas - new.available
    budget = total([new, *old]) - rollout.min_available - new_unavailable
    if budget <= 0:
        return []
    oldest_first = sorted(old, key=lambda replica_set: replica_set.age)
    unhealthy = _clean_up_unhealthy(oldest_first, budget)
    remaining = _after(oldest_first, unhealthy)
    return [*unhealthy, *_shrink(rollout, new, remaining)]


def _clean_up_unhealthy(old: Sequence[SetState], budget: int) -> list[Scale]:
    steps = []
    for replica_set in old:
        unhealthy = min(budget, replica_set.replicas - replica_set.available)
        if unhealthy > 0:
            budget -= unhealthy
            steps.append(Scale(replica_set.name, replica_set.replicas - unhealthy))
    return steps


def _shrink(rollout: Rollout, new: SetState, old: Sequence[SetState]) -> list[Scale]:
    """Healthy pods beyond the minimum go, oldest ReplicaSet first."""
    surplus = sum(replica_set.available for replica_set in (new, *old)) - rollout.min_available
    steps = []
    for replica_set in old:
        lost = min(replica_set.replicas, surplus)
        if lost > 0:
            surplus -= lost
            steps.append(Scale(replica_set.name, replica_set.replicas - lost))
    return steps


def _after(sets: Sequence[SetState], steps: Sequence[Scale]) -> list[SetState]:
    planned = {step.name: step.replicas for step in steps}
    return [replica_set.scaled_to(planned.get(replica_set.name, replica_set.replicas)) for replica_set in sets]
