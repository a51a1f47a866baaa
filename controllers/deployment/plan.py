"""The decision: what one reconcile of a Deployment does, from values alone.

Called by the reconciler with what the caches hold; reads no clock and does no I/O. Carried out twice it acts once: the
second plan is made from the outcome of the first, and a plan made from stale caches fails on its resourceVersions.

syncDeployment of pkg/controller/deployment (v1.36), with its several status writes drawn together into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controllers.deployment import cleanup, progress, recreate, revisions, rolling, scaling, status
from controllers.deployment.conditions import Conditions
from controllers.deployment.model import Rollout, Scale, SetState
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted

Pods = Sequence[ReadOnlyObject]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order they are taken: create, annotate, scales, deletes, then the status."""

    new: SetState | None
    old: tuple[SetState, ...]
    conditions: Conditions
    create: SetState | None = None
    annotate: SetState | None = None
    scales: tuple[Scale, ...] = ()
    deletes: tuple[str, ...] = ()
    is_rollout: bool = False

    @property
    def revision(self) -> str:
        """The revision for the Deployment's own annotation; "" where there is no new ReplicaSet yet."""
        return self.new.annotations.get(revisions.REVISION, "") if self.new else ""


def plan(rollout: Rollout, sets: Sequence[SetState], pods_by_set: Mapping[str, Pods], now: datetime) -> Plan:
    """What to do about a Deployment whose ReplicaSets are `sets`; `pods_by_set`: uid of a ReplicaSet -> its pods."""
    begun = _begin(rollout, sets, now)
    if is_being_deleted(rollout.obj):
        return begun
    if rollout.is_paused or scaling.is_scaled(rollout, sets):
        return _sized(rollout, begun)
    if rollout.is_rolling:
        return _rolled(rollout, begun, now)
    return _recreated(rollout, begun, pods_by_set, now)


def new_status(rollout: Rollout, decided: Plan, now: datetime) -> Object:
    """The status that goes with a plan, its scales taken for done."""
    planned = {scale.name: scale.replicas for scale in decided.scales}

    def after(replica_set: SetState) -> SetState:
        return replica_set.scaled_to(planned.get(replica_set.name, replica_set.replicas))

    new = after(decided.new) if decided.new else None
    old = [after(replica_set) for replica_set in decided.old]
    counted = status.counters(rollout, new, old)
    conditions = status.with_availability(rollout, decided.conditions, counted, now)
    if decided.is_rollout:
        conditions = progress.estimated(rollout, conditions, counted, new, now)
        conditions = status.with_replica_failure(conditions, new, old)
    return {**counted, "conditions": conditions}


def _begin(rollout: Rollout, sets: Sequence[SetState], now: datetime) -> Plan:
    """What every branch does: find the new ReplicaSet, put its annotations right, note pausing and resuming."""
    conditions: Conditions = [dict(stored) for stored in rollout.status.get("conditions") or []]
    if not is_being_deleted(rollout.obj):
        conditions = progress.paused_or_resumed(rollout, conditions, now)
    new, old = revisions.split(rollout, sets)
    if new is None:
        return Plan(None, tuple(old), conditions)
    right = revisions.updated(rollout, new, old)
    conditions = progress.found(rollout, conditions, right, now)
    return Plan(right, tuple(old), conditions, annotate=None if right is new else right)


def _sized(rollout: Rollout, begun: Plan) -> Plan:
    deletes = cleanup.plan(rollout, begun.old) if rollout.is_paused else []
    return replace(begun, scales=tuple(scaling.plan(rollout, begun.new, begun.old)), deletes=tuple(deletes))


def _rolled(rollout: Rollout, begun: Plan, now: datetime) -> Plan:
    step, new = _with_new_set(rollout, begun, now)
    scales = rolling.plan(rollout, new, step.old)
    return _rollout(rollout, step, scales)


def _recreated(rollout: Rollout, begun: Plan, pods_by_set: Mapping[str, Pods], now: datetime) -> Plan:
    down = recreate.scale_down(begun.old)
    new_uid = begun.new.uid if begun.new else ""
    old_pods = [pod for uid, pods in pods_by_set.items() if uid != new_uid for pod in pods]
    if down or recreate.old_pods_run(begun.old, old_pods):
        return replace(begun, scales=tuple(down), is_rollout=True)
    step, new = _with_new_set(rollout, begun, now)
    return _rollout(rollout, step, recreate.scale_up(rollout, new))


def _with_new_set(rollout: Rollout, begun: Plan, now: datetime) -> tuple[Plan, SetState]:
    """The plan with a ReplicaSet for the present template, created as large as the strategy allows at once."""
    if begun.new is not None:
        return begun, begun.new
    empty = revisions.fresh(rollout, 0, begun.old)
    replicas = rolling.new_replicas(rollout, empty, begun.old) if rollout.is_rolling else rollout.replicas
    new = revisions.fresh(rollout, replicas, begun.old)
    conditions = progress.created(rollout, begun.conditions, new, now)
    return replace(begun, new=new, create=new, conditions=conditions), new


def _rollout(rollout: Rollout, step: Plan, scales: Sequence[Scale]) -> Plan:
    """Old ReplicaSets are cleaned up once the stored status says that the rollout is complete."""
    done = not scales and progress.is_complete(rollout, rollout.status)
    deletes = cleanup.plan(rollout, step.old) if done else []
    return replace(step, scales=tuple(scales), deletes=tuple(deletes), is_rollout=True)
