"""The life of a container as a table: from which state it goes where, when, and what changes then.

`advance` takes every step that is due, earliest first; `next_due` says when the next one will be. Both are pure. The
times are those of a kubelet (pkg/kubelet/kuberuntime and images, v1.36): the first restart comes at once, later ones
wait 10 s, doubled each time up to 5 minutes, and ten quiet minutes make up for everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from kubelet_sim import restarts
from kubelet_sim.behaviour import NEVER
from kubelet_sim.state import Container, ContainerSpec, Happening, PodRuntime, PodSpec, Role, Run, State

FIRST_BACKOFF_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 300.0
FORGIVEN_AFTER_SECONDS = 600.0
NOTICE_SECONDS = 1.0  # how long a kubelet takes to see that something ended
KILLED = 137
_MAX_STEPS = 10_000
_AT_ONCE = datetime.min.replace(tzinfo=UTC)
_IMAGE_BYTES = 42_000_000


@dataclass(frozen=True, slots=True)
class Scene:
    """One container within its pod, at a moment."""

    pod: PodSpec
    runtime: PodRuntime
    spec: ContainerSpec
    container: Container
    now: datetime

    def others(self) -> Iterator[tuple[ContainerSpec, Container]]:
        return zip(self.pod.containers, self.runtime.containers, strict=True)


@dataclass(frozen=True, slots=True)
class Transition:
    """`at`: when it is due; None while nothing but a change of something else can bring it about."""

    source: State
    target: State
    at: Callable[[Scene], datetime | None]
    change: Callable[[Scene], Container]
    tell: Callable[[Scene], Sequence[Happening]]


def advance(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, list[Happening]]:
    """The runtime after everything that was due by `now`, and what is to be told about it."""
    happenings: list[Happening] = []
    for _ in range(_MAX_STEPS):
        due = [(at, i, step) for at, i, step in _steps(pod, runtime, now) if at <= now]
        if not due:
            break
        _, i, step = min(due, key=lambda entry: entry[:2])
        scene = Scene(pod, runtime, pod.containers[i], runtime.containers[i], now)
        changed = replace(step.change(scene), state=step.target)
        happenings += step.tell(scene)
        runtime = replace(runtime, containers=(*runtime.containers[:i], changed, *runtime.containers[i + 1 :]))
    return runtime, happenings


def next_due(pod: PodSpec, runtime: PodRuntime, now: datetime) -> datetime | None:
    """When the next step after `now` is due."""
    return min((at for at, _, _ in _steps(pod, runtime, now) if at > now), default=None)


def _steps(pod: PodSpec, runtime: PodRuntime, now: datetime) -> Iterator[tuple[datetime, int, Transition]]:
    for i, (spec, container) in enumerate(zip(pod.containers, runtime.containers, strict=True)):
        scene = Scene(pod, runtime, spec, container, now)
        for step in TRANSITIONS_FROM[container.state]:
            at = step.at(scene)
            if at is not None:
                yield at, i, step


# --- when


def _its_turn(scene: Scene) -> datetime | None:
    """Init containers go one by one; those that come before must have ended well, sidecars have started."""
    if scene.runtime.stopping_since or scene.runtime.mount_error:
        return None
    turn = _AT_ONCE
    for spec, container in scene.others():
        if spec.role is Role.REGULAR or spec is scene.spec:
            return turn
        done = _initialized_at(spec, container)
        if done is None:
            return None
        turn = max(turn, done)
    return turn


def _initialized_at(spec: ContainerSpec, container: Container) -> datetime | None:
    run = container.run
    if run is None or run.started_at is None:
        return None
    if spec.role is Role.SIDECAR:
        is_up = container.state is State.RUNNING
        return _later(run.started_at, spec.behaviour.started_after_seconds) if is_up else None
    has_ended_well = container.state is State.EXITED and run.exit_code == 0
    return run.finished_at if has_ended_well else None


def _pulled(scene: Scene) -> datetime | None:
    may_start = scene.spec.behaviour.is_pullable and scene.spec.name not in scene.runtime.config_errors
    return _pull_end(scene) if may_start else None


def _pull_fails(scene: Scene) -> datetime | None:
    return None if scene.spec.behaviour.is_pullable else _pull_end(scene)


def _config_fails(scene: Scene) -> datetime | None:
    is_missing = scene.spec.behaviour.is_pullable and scene.spec.name in scene.runtime.config_errors
    return _pull_end(scene) if is_missing else None


def _pull_end(scene: Scene) -> datetime | None:
    if scene.runtime.stopping_since:
        return None
    assert scene.container.since is not None
    return scene.container.since + timedelta(seconds=scene.runtime.pull_seconds)


def _config_is_there(scene: Scene) -> datetime | None:
    is_missing = scene.spec.name in scene.runtime.config_errors
    return None if is_missing or scene.runtime.stopping_since else _AT_ONCE


def _pull_backs_off(scene: Scene) -> datetime | None:
    return _after_state(scene, NOTICE_SECONDS)


def _pull_retried(scene: Scene) -> datetime | None:
    if scene.container.image != scene.spec.image and not scene.runtime.stopping_since:
        return _AT_ONCE
    return _after_state(scene, backoff_seconds(scene.container.pull_failures) - NOTICE_SECONDS)


def _after_state(scene: Scene, seconds: float) -> datetime | None:
    if scene.runtime.stopping_since or scene.container.since is None:
        return None
    return scene.container.since + timedelta(seconds=seconds)


def _ends(scene: Scene) -> datetime | None:
    return min((at for at in (_natural_end(scene), stopped_at(scene), _replaced_at(scene)) if at), default=None)


def _natural_end(scene: Scene) -> datetime | None:
    run = scene.container.run
    assert run is not None and run.started_at is not None
    return _later(run.started_at, scene.spec.behaviour.exit_after_seconds)


def _replaced_at(scene: Scene) -> datetime | None:
    """Somebody changed the image of a running container."""
    return scene.now if _has_other_image(scene) else None


def stopped_at(scene: Scene) -> datetime | None:
    """When a container that was told to stop has stopped: a sidecar is told when those it served are gone."""
    told = _told_to_stop(scene)
    if told is None:
        return None
    deadline = told + timedelta(seconds=_grace_seconds(scene))
    stopped = _later(told, scene.spec.behaviour.stop_seconds)
    return min(stopped, deadline) if stopped else deadline


def _told_to_stop(scene: Scene) -> datetime | None:
    told = scene.runtime.stopping_since
    if scene.spec.role is not Role.SIDECAR:
        return told
    is_later = False
    for spec, container in scene.others():
        is_later = is_later or spec is scene.spec
        if spec is scene.spec or (spec.role is Role.SIDECAR and not is_later):
            continue
        if container.state is State.RUNNING or (told is None and not _is_over(scene, spec, container)):
            return None
        if container.run and container.run.finished_at:
            told = max(told or _AT_ONCE, container.run.finished_at)
    return told


def _is_over(scene: Scene, spec: ContainerSpec, container: Container) -> bool:
    if spec.role is Role.SIDECAR:
        return True
    is_ended = container.state is State.EXITED and container.run is not None
    return is_ended and not restarts.should_restart(scene.pod, spec, container)


def _grace_seconds(scene: Scene) -> float:
    pod = scene.pod
    return pod.deletion_grace_seconds if pod.deletion_deadline else pod.grace_seconds


def _restarts_at_once(scene: Scene) -> datetime | None:
    is_first = scene.container.crashes == 0 and not _has_other_image(scene)
    return _noticed(scene) if is_first and _will_restart(scene) else None


def _crashes_again(scene: Scene) -> datetime | None:
    is_repeated = scene.container.crashes > 0 and not _has_other_image(scene)
    return _noticed(scene) if is_repeated and _will_restart(scene) else None


def _restarts_after_backoff(scene: Scene) -> datetime | None:
    if scene.runtime.stopping_since or _has_other_image(scene):
        return None
    return _finished(scene) + timedelta(seconds=backoff_seconds(scene.container.crashes))


def _restarts_with_other_image(scene: Scene) -> datetime | None:
    return _noticed(scene) if _has_other_image(scene) and _will_restart(scene) else None


def _has_other_image(scene: Scene) -> bool:
    return scene.container.run is not None and scene.container.run.image != scene.spec.image


def _will_restart(scene: Scene) -> bool:
    return not scene.runtime.stopping_since and restarts.should_restart(scene.pod, scene.spec, scene.container)


def _noticed(scene: Scene) -> datetime:
    return _finished(scene) + timedelta(seconds=NOTICE_SECONDS)


def _finished(scene: Scene) -> datetime:
    assert scene.container.run is not None
    return scene.container.run.finished_at or scene.runtime.arrived_at


def backoff_seconds(failures: int) -> float:
    """10 s after the first, doubled with each, 5 minutes at most."""
    return min(FIRST_BACKOFF_SECONDS * 2 ** min(max(failures - 1, 0), 10), MAX_BACKOFF_SECONDS)


def _later(moment: datetime, seconds: float) -> datetime | None:
    return None if seconds == NEVER else moment + timedelta(seconds=seconds)


# --- what changes


def _begin_pull(scene: Scene) -> Container:
    return replace(scene.container, since=scene.now, image=scene.spec.image)


def _fail_pull(scene: Scene) -> Container:
    return replace(scene.container, since=scene.now, pull_failures=scene.container.pull_failures + 1)


def _since_now(scene: Scene) -> Container:
    return replace(scene.container, since=scene.now)


def _start(scene: Scene) -> Container:
    """A first run, or one more."""
    before = scene.container
    restarts_so_far = before.restarts + 1 if before.run else 0
    run = Run(_container_id(scene.pod.uid, before.name, restarts_so_far), scene.spec.image, scene.now)
    return replace(
        before,
        since=scene.now,
        run=run,
        last_run=before.run or before.last_run,
        restarts=restarts_so_far,
        crashes=before.crashes + 1 if before.run else 0,
        pull_failures=0,
    )


def _end(scene: Scene) -> Container:
    """Ends may lie in the past: what ran while nobody looked ended when it did."""
    run, behaviour = scene.container.run, scene.spec.behaviour
    assert run is not None and run.started_at is not None
    natural, finished_at = _natural_end(scene), _ends(scene)
    exit_code, reason = 0, ""
    if natural is not None and natural == finished_at:
        exit_code, reason = behaviour.exit_code, behaviour.exit_reason
    elif _told_to_stop(scene) and behaviour.stop_seconds >= _grace_seconds(scene):
        exit_code = KILLED
    ended = replace(
        run, finished_at=finished_at, exit_code=exit_code, reason=reason or ("Error" if exit_code else "Completed")
    )
    assert finished_at is not None
    is_forgiven = (finished_at - run.started_at).total_seconds() >= FORGIVEN_AFTER_SECONDS
    return replace(scene.container, since=finished_at, run=ended, crashes=0 if is_forgiven else scene.container.crashes)


def _container_id(uid: str, name: str, restarts_so_far: int) -> str:
    return "containerd://" + hashlib.sha256(f"{uid}/{name}/{restarts_so_far}".encode()).hexdigest()


# --- what is told


def _nothing(scene: Scene) -> Sequence[Happening]:
    return ()


def _tell_pulling(scene: Scene) -> Sequence[Happening]:
    return (Happening("Normal", "Pulling", f'Pulling image "{scene.spec.image}"', scene.spec),)


def _tell_pull_failed(scene: Scene) -> Sequence[Happening]:
    message = f'Failed to pull image "{scene.spec.image}": {pull_error(scene.spec.image)}'
    return (
        Happening("Warning", "Failed", message, scene.spec),
        Happening("Warning", "Failed", "Error: ErrImagePull", scene.spec),
    )


def _tell_pull_backoff(scene: Scene) -> Sequence[Happening]:
    return (
        Happening("Normal", "BackOff", f'Back-off pulling image "{scene.spec.image}"', scene.spec),
        Happening("Warning", "Failed", "Error: ImagePullBackOff", scene.spec),
    )


def _tell_config_error(scene: Scene) -> Sequence[Happening]:
    message = f"Error: {scene.runtime.config_errors[scene.spec.name]}"
    return (Happening("Warning", "Failed", message, scene.spec),)


def _tell_first_start(scene: Scene) -> Sequence[Happening]:
    duration = _spelled(scene.runtime.pull_seconds)
    message = (
        f'Successfully pulled image "{scene.spec.image}" in {duration} ({duration} including waiting).'
        f" Image size: {_IMAGE_BYTES} bytes."
    )
    return (Happening("Normal", "Pulled", message, scene.spec), *_tell_started(scene))


def _tell_restart(scene: Scene) -> Sequence[Happening]:
    message = f'Container image "{scene.spec.image}" already present on machine and can be accessed by the pod'
    return (Happening("Normal", "Pulled", message, scene.spec), *_tell_started(scene))


def _tell_started(scene: Scene) -> Sequence[Happening]:
    return (
        Happening("Normal", "Created", "Container created", scene.spec),
        Happening("Normal", "Started", "Container started", scene.spec),
    )


def _tell_replaced(scene: Scene) -> Sequence[Happening]:
    if _replaced_at(scene) is None or scene.runtime.stopping_since:
        return ()
    message = f"Container {scene.spec.name} definition changed, will be restarted"
    return (Happening("Normal", "Killing", message, scene.spec),)


def _tell_crash(scene: Scene) -> Sequence[Happening]:
    message = f"Back-off restarting failed container {scene.spec.name} in pod {scene.pod.title}"
    return (Happening("Warning", "BackOff", message, scene.spec),)


def pull_error(image: str) -> str:
    """What containerd says of an image that the registry does not have."""
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve reference'
        f' "{image}": {image}: not found'
    )


def _spelled(seconds: float) -> str:
    """As Go prints durations of less than a minute, cut to milliseconds."""
    milliseconds = int(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    return f"{milliseconds}ms" if milliseconds < 1000 else f"{milliseconds / 1000:g}s"


TRANSITIONS = (
    Transition(State.WAITING, State.PULLING, _its_turn, _begin_pull, _tell_pulling),
    Transition(State.PULLING, State.PULL_FAILED, _pull_fails, _fail_pull, _tell_pull_failed),
    Transition(State.PULLING, State.CONFIG_ERROR, _config_fails, _since_now, _tell_config_error),
    Transition(State.PULLING, State.RUNNING, _pulled, _start, _tell_first_start),
    Transition(State.PULL_FAILED, State.PULL_BACKOFF, _pull_backs_off, _since_now, _tell_pull_backoff),
    Transition(State.PULL_BACKOFF, State.PULLING, _pull_retried, _begin_pull, _tell_pulling),
    Transition(State.CONFIG_ERROR, State.RUNNING, _config_is_there, _start, _tell_restart),
    Transition(State.RUNNING, State.EXITED, _ends, _end, _tell_replaced),
    Transition(State.EXITED, State.RUNNING, _restarts_at_once, _start, _tell_restart),
    Transition(State.EXITED, State.CRASH_BACKOFF, _crashes_again, _since_now, _tell_crash),
    Transition(State.EXITED, State.PULLING, _restarts_with_other_image, _begin_pull, _tell_pulling),
    Transition(State.CRASH_BACKOFF, State.PULLING, _restarts_with_other_image, _begin_pull, _tell_pulling),
    Transition(State.CRASH_BACKOFF, State.RUNNING, _restarts_after_backoff, _start, _tell_restart),
)
TRANSITIONS_FROM = {state: tuple(step for step in TRANSITIONS if step.source is state) for state in State}
