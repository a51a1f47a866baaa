"""The five conditions of a pod that are its kubelet's: pkg/kubelet/status/generate.go (v1.36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kubelet_sim import restarting
from kubelet_sim.phase import TERMINAL
from kubelet_sim.state import PodRuntime, PodSpec, Pull, Role, State
from kubeloop.apimachinery import conditions
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of
from kubeloop.apimachinery.times import format_time

RESIZE_PENDING, RESIZING = "PodResizePending", "PodResizeInProgress"
# These go when there is nothing to say.
PASSING_TYPES = (RESIZE_PENDING, RESIZING)
OWN_TYPES = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")

Outcome = tuple[bool, str, str]  # status, reason, message
_TRUE: Outcome = (True, "", "")
_COMPLETED = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}  # the reasons of what is over


def conditions_of(
    obj: ReadOnlyObject,
    pod: PodSpec,
    runtime: PodRuntime,
    phase: str,
    statuses: Sequence[Mapping[str, Any]],
    now: datetime,
) -> list[Object]:
    """In a kubelet's order; times are kept where the status is as it was."""
    is_judged = runtime.verdict is not None and runtime.verdict.is_lasting
    containers_ready = _containers_ready(pod, "Failed" if is_judged else phase, statuses)
    outcomes = (
        (has_sandbox(runtime) and phase not in TERMINAL, "", ""),
        _initialized(pod, runtime, phase, statuses),
        containers_ready if not containers_ready[0] else _gates(obj),
        containers_ready,
        _TRUE,
    )
    current = {condition["type"]: condition for condition in conditions.conditions_of(obj)}
    found = _resize(runtime)
    if runtime.verdict and runtime.verdict.disruption and phase in TERMINAL:
        found["DisruptionTarget"] = (True, "TerminationByKubelet", runtime.verdict.disruption)
    found |= dict(zip(OWN_TYPES, outcomes, strict=True))
    about: dict[str, int | None] = {RESIZING: runtime.resizing.generation} if runtime.resizing else {}
    if pod.restarts_all:
        found[restarting.CONDITION] = _all_restarting(runtime, phase)
        about[restarting.CONDITION] = None
    generation, at = generation_of(obj), format_time(now)
    return [
        _condition(current.get(type_) or {}, type_, outcome, about.get(type_, generation), at)
        for type_, outcome in found.items()
    ]


def _resize(runtime: PodRuntime) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    if runtime.resize_pending:
        found[RESIZE_PENDING] = (True, "Deferred", runtime.resize_pending.message)
    if runtime.resizing:
        found[RESIZING] = _TRUE
    return found


def _all_restarting(runtime: PodRuntime, phase: str) -> Outcome:
    if phase in TERMINAL:
        return False, _COMPLETED[phase], ""
    if runtime.restarting_since is None:
        return False, "", ""
    return True, "RestartAllContainersStarted", "container exited with restart policy rule"


def has_sandbox(runtime: PodRuntime) -> bool:
    """The pod has its network: shown from when its first container got past pulling, to save a write."""
    return any(
        container.run or container.state not in (State.WAITING, State.PULLING) for container in runtime.containers
    ) or any(image.failures or image.pull is Pull.REFUSED for image in runtime.volume_images)


def _condition(before: Mapping[str, Any], type_: str, outcome: Outcome, generation: int | None, now: str) -> Object:
    """`generation`: None where a kubelet does not say which one it is about."""
    status, reason, message = outcome
    text = "True" if status else "False"
    since = before.get("lastTransitionTime") if before.get("status") == text else None
    condition: Object = {"type": type_}
    if generation is not None:
        condition["observedGeneration"] = generation
    condition["status"] = text
    condition["lastProbeTime"] = before.get("lastProbeTime")
    condition["lastTransitionTime"] = since or now
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _containers_ready(pod: PodSpec, phase: str, statuses: Sequence[Mapping[str, Any]]) -> Outcome:
    if phase in TERMINAL:
        return False, _COMPLETED[phase], ""
    unready = [
        spec.name
        for spec, status in zip(pod.containers, statuses, strict=True)
        if spec.role in (Role.SIDECAR, Role.REGULAR) and not status["ready"]
    ]
    if not unready:
        return _TRUE
    return False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"


def _initialized(pod: PodSpec, runtime: PodRuntime, phase: str, statuses: Sequence[Mapping[str, Any]]) -> Outcome:
    if phase == "Succeeded":
        return True, "PodCompleted", ""
    pairs = list(zip(pod.containers, runtime.containers, statuses, strict=True))
    if any(container.run for spec, container, _ in pairs if spec.role is Role.REGULAR):
        return _TRUE
    incomplete = [
        spec.name
        for spec, _, status in pairs
        if (spec.role is Role.INIT and not status["ready"]) or (spec.role is Role.SIDECAR and not status["started"])
    ]
    if not incomplete:
        return _TRUE
    return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"


def _gates(obj: ReadOnlyObject) -> Outcome:
    """Conditions that others set and the pod waits for."""
    current = conditions.conditions_of(obj)
    problems = []
    for gate in obj["spec"].get("readinessGates") or ():
        wanted = gate["conditionType"]
        found = conditions.get_condition(current, wanted)
        if found is None:
            problems.append(f'corresponding condition of pod readiness gate "{wanted}" does not exist.')
        elif found.get("status") != "True":
            problems.append(f'the status of pod readiness gate "{wanted}" is not "True", but {found.get("status")}')
    return (False, "ReadinessGatesNotReady", ", ".join(problems)) if problems else _TRUE
