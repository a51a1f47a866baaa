"""What becomes of a container when it leaves a state; the new state itself is the transition table's."""

from __future__ import annotations

import hashlib
from datetime import datetime

from kubelet_sim import hooks, last_words, moments
from kubelet_sim.behaviour import KILLED
from kubelet_sim.restarts import RESTARTED_WITH_ALL
from kubelet_sim.scene import Scene
from kubelet_sim.state import Container, PodRuntime, Run, State

FORGIVEN_AFTER_SECONDS = 600.0


def begin_pull(scene: Scene) -> Container:
    return scene.container._replace(since=scene.now, image=scene.spec.image, has_image=moments.is_image_present(scene))


def fail_pull(scene: Scene) -> Container:
    return scene.container._replace(since=scene.now, pull_failures=scene.container.pull_failures + 1)


def note_time(scene: Scene) -> Container:
    return scene.container._replace(since=scene.now)


def start(scene: Scene) -> Container:
    """A first run, or one more. What takes time to start is created first."""
    return note_time(scene) if scene.spec.is_created_first else begun(scene)


def begun_before_hook(scene: Scene) -> Container:
    """A hook runs when the container does already."""
    assert scene.container.since is not None
    return begun(scene._replace(now=scene.container.since))


def unchanged(scene: Scene) -> Container:
    return scene.container


def killed_after_hook(scene: Scene) -> Container:
    """Nobody has seen it run."""
    at, code = moments.killed_after_hook(scene), KILLED if moments.is_killed_after_hook(scene) else 0
    assert at is not None
    spec = scene.spec
    why = hooks.foreseen_failure(spec.fields, scene.pod.title, scene.runtime.ip, spec.behaviour.post_start.exit_code)
    return ended(begun_before_hook(scene), at, code, hook_error=why)


def begun(scene: Scene) -> Container:
    before = scene.container
    restarts_so_far = _restarts_of_next(before)
    run = Run(next_run_id(scene.pod.uid, before), scene.spec.image, scene.now)
    return before._replace(
        since=scene.now,
        run=run,
        last_run=before.run or before.last_run,
        restarts=restarts_so_far,
        crashes=before.crashes + 1 if _is_restart(before) else 0,
        pull_failures=0,
        probed={},
        stop_order=None,
        resources=None,
    )


def end(scene: Scene) -> Container:
    """Ends may lie in the past: what ran while nobody looked ended when it did."""
    run, behaviour = scene.container.run, scene.spec.behaviour
    assert run is not None and run.started_at is not None
    natural, finished_at = moments.natural_end(scene), moments.ends(scene)
    exit_code, reason = 0, ""
    if natural is not None and natural == finished_at:
        exit_code, reason = behaviour.exit_code, behaviour.exit_reason
    elif moments.is_killed(scene, finished_at):
        exit_code = KILLED
    assert finished_at is not None
    message = last_words.left_by(scene.pod.obj, scene.spec.fields, run.started_at, finished_at, exit_code)
    return ended(scene.container, finished_at, exit_code, reason, message)


def ended(
    container: Container, at: datetime, exit_code: int, reason: str = "", message: str = "", hook_error: str = ""
) -> Container:
    """One that ran; ten minutes make up for every crash before."""
    run = container.run
    assert run is not None and run.started_at is not None
    reason = reason or ("Error" if exit_code else "Completed")
    over = run._replace(finished_at=at, exit_code=exit_code, reason=reason, message=message, hook_error=hook_error)
    is_forgiven = (at - run.started_at).total_seconds() >= FORGIVEN_AFTER_SECONDS
    return container._replace(since=at, run=over, crashes=0 if is_forgiven else container.crashes)


def ended_by_force(runtime: PodRuntime, name: str, exit_code: int, now: datetime) -> PodRuntime:
    """The first process of a running container is gone."""

    def killed(container: Container) -> Container:
        if container.name != name or container.state is not State.RUNNING or container.run is None:
            return container
        reason = "Error" if exit_code else "Completed"
        run = container.run._replace(finished_at=now, exit_code=exit_code, reason=reason)
        return container._replace(state=State.EXITED, since=now, run=run)

    return runtime._replace(containers=tuple(map(killed, runtime.containers)))


def next_run_id(uid: str, container: Container) -> str:
    """Of the run that comes after the one it has had."""
    return _container_id(uid, container.name, _restarts_of_next(container))


def _restarts_of_next(container: Container) -> int:
    return container.restarts + 1 if _is_restart(container) else container.restarts


def _is_restart(container: Container) -> bool:
    """Of one container; one that starts anew with its pod was counted before."""
    return container.run is not None and container.run.reason != RESTARTED_WITH_ALL


def _container_id(uid: str, name: str, restarts_so_far: int) -> str:
    return "containerd://" + hashlib.sha256(f"{uid}/{name}/{restarts_so_far}".encode()).hexdigest()
