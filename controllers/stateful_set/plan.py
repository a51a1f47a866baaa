"""The decision: what one reconcile of a StatefulSet does, from values alone.

Called by the reconciler with what the caches hold; reads no clock and does no I/O. In order (OrderedReady) the plan
ends with the first pod that has to be waited for; in parallel every pod is looked at for itself.

updateStatefulSet of pkg/controller/statefulset, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from controllers import pods
from controllers.stateful_set import claims, identity, rolling
from controllers.stateful_set.claims import NO_WORK, Claims, ClaimWork
from controllers.stateful_set.model import Revisions, SetSpec
from controllers.stateful_set.status import is_running_and_ready
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted, uid_of

CREATE, UPDATE, DELETE, MEND_CLAIMS = "create", "update", "delete", "mend claims"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: create, update or delete this pod, or see to its claims alone."""

    verb: str
    pod: Object
    claims: ClaimWork = NO_WORK


@dataclass(frozen=True, slots=True)
class Plan:
    """Phases in the order they are carried out; each only if the one before went well.

    `members`: the pods there are, for the status; `outdated`: how many of the deletions are for an update.
    """

    members: tuple[Object, ...]
    phases: tuple[tuple[Step, ...], ...] = ()
    outdated: int = 0


@dataclass(frozen=True, slots=True)
class _Decision:
    """About one pod: what to do, if anything, and whether the others have to wait for it where order is kept."""

    step: Step | None = None
    is_waited_for: bool = False


_NOTHING, _WAIT = _Decision(), _Decision(is_waited_for=True)


def plan(spec: SetSpec, revisions: Revisions, members: Sequence[Object], known: Claims, now: datetime) -> Plan:
    """`members`: the set's pods; `known`: the claims that exist, of all ordinals in play."""
    counted = tuple(members)
    if is_being_deleted(spec.obj):
        return Plan(counted)
    replicas, condemned = _laid_out(spec, revisions, members)
    kept, must_wait = _phase(spec, [_about_replica(spec, pod, known, now) for pod in replicas])
    if must_wait:
        return Plan(counted, (kept,))
    mended = _mended(spec, condemned, known)
    first_unavailable = next(
        (pod for pod in [*replicas, *reversed(condemned)] if _is_unavailable(spec, pod, now)), None
    )
    away, must_wait = _phase(spec, [_about_condemned(spec, pod, first_unavailable, now) for pod in condemned])
    if must_wait or not spec.is_rolling:
        return Plan(counted, (kept, mended, away))
    going = {uid_of(step.pod) for step in kept if step.verb == DELETE}
    outdated = rolling.plan(spec, replicas, going, revisions.update_name, now)
    return Plan(counted, (kept, mended, away, tuple(Step(DELETE, pod) for pod in outdated)), len(outdated))


def _laid_out(spec: SetSpec, revisions: Revisions, members: Sequence[Object]) -> tuple[list[Object], list[Object]]:
    """One pod for each ordinal, ascending, those missing as they are to be created; and the surplus, descending."""
    by_ordinal = {identity.ordinal_of(pod): pod for pod in members}
    replicas = [by_ordinal.get(ordinal) or identity.new_pod(spec, revisions, ordinal) for ordinal in spec.ordinals]
    surplus = sorted((ordinal for ordinal in by_ordinal if ordinal >= 0 and ordinal not in spec.ordinals), reverse=True)
    return replicas, [by_ordinal[ordinal] for ordinal in surplus]


def _phase(spec: SetSpec, decisions: Iterable[_Decision]) -> tuple[tuple[Step, ...], bool]:
    """The steps of these decisions, where order is kept up to the first that is waited for; whether there is one."""
    steps = []
    for decision in decisions:
        if decision.step is not None:
            steps.append(decision.step)
        if decision.is_waited_for and spec.is_ordered:
            return tuple(steps), True
    return tuple(steps), False


def _about_replica(spec: SetSpec, pod: Object, known: Claims, now: datetime) -> _Decision:
    if pods.is_terminal(pod):
        return _WAIT if is_being_deleted(pod) else _Decision(Step(DELETE, pod), is_waited_for=True)
    if not pods.phase_of(pod):
        return _creation(spec, pod, known)
    is_blocking = _is_unavailable(spec, pod, now) or not is_running_and_ready(pod)
    mended = _claims_of_pending(spec, pod, known)
    if spec.is_ordered and is_blocking:
        return _Decision(mended, is_waited_for=True)
    if not identity.has_identity(spec, pod) or not (mended or claims.have_right_owners(spec, pod, known)):
        return _Decision(_update(spec, pod, known))
    return _Decision(mended)


def _claims_of_pending(spec: SetSpec, pod: Object, known: Claims) -> Step | None:
    """Claims are created with their pod; should one be gone while the pod still waits for it, it comes again."""
    work = claims.work(spec, pod, known) if pods.phase_of(pod) == "Pending" else NO_WORK
    return None if work == NO_WORK else Step(MEND_CLAIMS, pod, work)


def _update(spec: SetSpec, pod: Object, known: Claims) -> Step:
    work = claims.work(spec, pod, known)
    needed = work.owners_only() if identity.has_storage(spec, pod) else work
    return Step(UPDATE, identity.with_identity(spec, pod), needed)


def _creation(spec: SetSpec, pod: Object, known: Claims) -> _Decision:
    if claims.are_stale(spec, pod, known):
        return _WAIT
    return _Decision(Step(CREATE, pod, claims.work(spec, pod, known)), is_waited_for=True)


def _about_condemned(spec: SetSpec, pod: Object, first_unavailable: Object | None, now: datetime) -> _Decision:
    """Where order is kept, the highest goes, unless another pod is unavailable: then that has to recover first."""
    if is_being_deleted(pod):
        return _WAIT
    is_well = is_running_and_ready(pod) and not _is_unavailable(spec, pod, now)
    if spec.is_ordered and not is_well and pod is not first_unavailable:
        return _WAIT
    return _Decision(Step(DELETE, pod), is_waited_for=True)


def _mended(spec: SetSpec, condemned: Sequence[Object], known: Claims) -> tuple[Step, ...]:
    """The claims of pods that are to go get their owners first, or nobody would collect them."""
    wrong = [pod for pod in condemned if not claims.have_right_owners(spec, pod, known)]
    return tuple(Step(MEND_CLAIMS, pod, claims.work(spec, pod, known).owners_only()) for pod in wrong)


def _is_unavailable(spec: SetSpec, pod: ReadOnlyObject, now: datetime) -> bool:
    return is_being_deleted(pod) or not pods.is_available(pod, spec.min_ready_seconds, now)
