"""What a node makes of a pod at a moment: the next runtime state, the status to report, and when to look again.

The pure heart of the simulation: `plan(pod, runtime, now)`. The reconciler in pods.py carries plans out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kubelet_sim import allocation, complaints, image_volumes, readiness, transitions
from kubelet_sim.phase import TERMINAL
from kubelet_sim.pod_status import status_of
from kubelet_sim.state import Happening, PodRuntime, PodSpec, State, Verdict
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import moment_after

DEADLINE_EXCEEDED = Verdict(
    "DeadlineExceeded", "Pod was active on the node longer than the specified deadline", is_lasting=True
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`wake_at`: None while nothing is due. `is_removable`: the pod is being deleted and nothing of it runs."""

    runtime: PodRuntime
    status: Object
    happenings: Sequence[Happening]
    wake_at: datetime | None
    is_removable: bool


def plan(
    obj: ReadOnlyObject, pod: PodSpec, runtime: PodRuntime, now: datetime, sentence: Verdict | None = None
) -> Plan:
    """`obj`: the pod with the resources that are allocated to it. `sentence`: what the node has decided about it for
    reasons of its own.
    """
    if runtime.is_rejected:
        return Plan(runtime, status_of(obj, pod, runtime, now), (), None, pod.deletion_deadline is not None)
    runtime, before = _until_deadline(pod, runtime, now)
    runtime, judged = _judge(pod, runtime, now, sentence)
    runtime, ordered = _order_to_stop(pod, runtime, now)
    runtime, pulled, volumes_at = image_volumes.advance(pod, runtime, now)
    runtime, happened, next_step_at = transitions.advance(pod, runtime, now)
    runtime, still, again_at = complaints.repeated(pod, runtime, now)
    runtime, resized = allocation.actuate(obj, runtime, now)
    is_over = not runtime.is_running
    return Plan(
        runtime=runtime,
        status=status_of(obj, pod, runtime, now),
        happenings=[*before, *judged, *ordered, *pulled, *happened, *still, *resized],
        wake_at=_wake_at(pod, runtime, now, next_step_at, volumes_at, again_at),
        is_removable=is_over and pod.deletion_deadline is not None,
    )


def reject(runtime: PodRuntime, objection: Verdict) -> tuple[PodRuntime, Happening]:
    """The node does not take the pod: none of its containers will ever start."""
    verdict = replace(objection, message=f"Pod was rejected: {objection.message}")
    rejected = runtime._replace(verdict=verdict, is_rejected=True, containers=())
    return rejected, Happening("Warning", objection.reason, objection.message)


def _until_deadline(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, Sequence[Happening]]:
    """A node that looks late at a pod that is beyond its deadline: what was due before has happened before."""
    deadline = _deadline(pod, runtime)
    if deadline is None or now < deadline or runtime.verdict or runtime.stopping_since:
        return runtime, ()
    runtime, happened, _ = transitions.advance(pod, runtime, deadline)
    return runtime, happened


def _judge(
    pod: PodSpec, runtime: PodRuntime, now: datetime, sentence: Verdict | None
) -> tuple[PodRuntime, Sequence[Happening]]:
    if runtime.verdict or pod.phase in TERMINAL:
        return runtime, ()
    if sentence:
        told = Happening("Warning", sentence.reason, sentence.message, annotations=sentence.annotations)
        return runtime._replace(verdict=sentence), (told,)
    deadline = _deadline(pod, runtime)
    if deadline is None or now < deadline:
        return runtime, ()
    told = Happening("Normal", DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message)
    return runtime._replace(verdict=DEADLINE_EXCEEDED), (told,)


def _order_to_stop(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, Sequence[Happening]]:
    """A pod is stopped when it is deleted, when the node ends it, and when its phase says that it is over."""
    must_stop = pod.deletion_deadline is not None or runtime.verdict is not None or pod.phase in TERMINAL
    if not must_stop or runtime.stopping_since is not None:
        return runtime, ()
    told = [
        Happening("Normal", "Killing", f"Stopping container {spec.name}", spec)
        for spec, container in zip(pod.containers, runtime.containers, strict=True)
        if container.state is State.RUNNING
    ]
    return runtime._replace(stopping_since=now), told


def _wake_at(pod: PodSpec, runtime: PodRuntime, now: datetime, *steps_at: datetime | None) -> datetime | None:
    moments = [*steps_at, readiness.next_change(pod, runtime, now)]
    if runtime.resizing and now < allocation.ends_at(runtime.resizing):
        moments.append(allocation.ends_at(runtime.resizing))
    if runtime.verdict is None and pod.phase not in TERMINAL:
        moments.append(_deadline(pod, runtime))
    return min((moment for moment in moments if moment is not None), default=None)


def _deadline(pod: PodSpec, runtime: PodRuntime) -> datetime | None:
    if pod.deadline_seconds is None:
        return None
    return moment_after(runtime.arrived_at, pod.deadline_seconds)
