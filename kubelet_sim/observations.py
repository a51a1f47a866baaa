"""What has happened to containers that really run, and what a node makes of it. Pure.

A container runtime reports these (runtime.py); the reconciler applies them before it plans what comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubelet_sim import changes, probing, tales
from kubelet_sim.probes import Kind, Outcome
from kubelet_sim.scene import Scene
from kubelet_sim.state import Container, Happening, PodRuntime, PodSpec, State

# In the words and with the code of containerd (internal/cri/server/helpers.go).
START_ERROR, START_ERROR_CODE = "StartError", 128
# What it says of a process that it does not find again.
LOST, LOST_CODE = "Unknown", 255


@dataclass(frozen=True, slots=True)
class Started:
    """The process runs, and its postStart hook has ended well."""

    container: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StartFailed:
    """There is no process, and there will be none of this run."""

    container: str
    at: datetime
    message: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The container was told to stop before anything of it ran."""

    container: str


@dataclass(frozen=True, slots=True)
class Ended:
    """`reason`: "" for Completed or Error. `message`: what it left at its terminationMessagePath. `hook_error`: why it
    was ended, where its postStart hook had failed.
    """

    container: str
    run_id: str
    at: datetime
    exit_code: int
    reason: str = ""
    message: str = ""
    hook_error: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check of a probe; `said` is why it failed."""

    container: str
    run_id: str
    kind: Kind
    at: datetime
    outcome: Outcome
    said: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that only people are told of; of the pod as a whole where `container` is empty."""

    container: str
    event_type: str
    reason: str
    message: str


Observation = Started | StartFailed | NotStarted | Ended | Checked | Told
Applied = tuple[Container, Sequence[Happening]]


def applied(
    pod: PodSpec, runtime: PodRuntime, seen: Sequence[Observation], now: datetime
) -> tuple[PodRuntime, list[Happening]]:
    """In order. What is about another run than the one under way changes nothing."""
    told: list[Happening] = []
    for one in seen:
        index = next((i for i, spec in enumerate(pod.containers) if spec.name == one.container), None)
        if index is None or index >= len(runtime.containers):
            told += [Happening(one.event_type, one.reason, one.message)] if isinstance(one, Told) else []
            continue
        scene = Scene(pod, runtime, pod.containers[index], runtime.containers[index], now)
        container, happened = _apply(scene, one)
        containers = (*runtime.containers[:index], container, *runtime.containers[index + 1 :])
        runtime = runtime._replace(containers=containers)
        told += happened
    return runtime, told


def _apply(scene: Scene, one: Observation) -> Applied:
    match one:
        case Started():
            return _if_creating(scene, one.at, _started)
        case StartFailed(message=message):
            return _if_creating(scene, one.at, lambda scene: _start_failed(scene, message))
        case NotStarted():
            return _if_creating(scene, scene.now, _not_started)
        case Ended():
            return _ended(scene, one)
        case Checked():
            return _checked(scene, one)
        case Told():
            return scene.container, (Happening(one.event_type, one.reason, one.message, scene.spec),)


def _if_creating(scene: Scene, at: datetime, change: Callable[[Scene], Applied]) -> Applied:
    if scene.container.state is not State.CREATING:
        return scene.container, ()
    return change(scene._replace(now=at))


def _started(scene: Scene) -> Applied:
    return changes.begun(scene)._replace(state=State.RUNNING), (tales.started(scene.spec),)


def _start_failed(scene: Scene, message: str) -> Applied:
    failed = changes.ended(changes.begun(scene), scene.now, START_ERROR_CODE, START_ERROR, message)
    return failed._replace(state=State.EXITED), (tales.start_failed(scene.spec, message),)


def _not_started(scene: Scene) -> Applied:
    before = scene.container
    return before._replace(state=State.EXITED if before.run else State.WAITING), ()


def _ended(scene: Scene, end: Ended) -> Applied:
    if not _is_running(scene, end.run_id):
        return scene.container, ()
    over = changes.ended(scene.container, end.at, end.exit_code, end.reason, end.message, end.hook_error)
    return over._replace(state=State.EXITED), ()


def _checked(scene: Scene, check: Checked) -> Applied:
    if not _is_running(scene, check.run_id) or not probing.is_asked(scene, check.kind):
        return scene.container, ()
    assert scene.container.run is not None and scene.container.run.started_at is not None
    seconds = (check.at - scene.container.run.started_at).total_seconds()
    probe = scene.spec.behaviour.probes[check.kind]
    made = probing.Check(probe, seconds, check.outcome, check.at, check.said)
    return probing.after(scene, check.kind, made), tales.failed_check(scene, check.kind, made)


def _is_running(scene: Scene, run_id: str) -> bool:
    run = scene.container.run
    return scene.container.state is State.RUNNING and run is not None and run.id == run_id
