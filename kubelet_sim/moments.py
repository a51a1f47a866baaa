"""When a container leaves a state: each function gives a moment, or None while only something else can bring it about.

The times are those of a kubelet (pkg/kubelet/kuberuntime and images, v1.36): the first restart comes at once, later
ones wait 10 s, doubled each time up to 5 minutes, and ten quiet minutes make up for everything.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kubelet_sim import images, probing, restarts
from kubelet_sim.annotations import NEVER
from kubelet_sim.scene import Scene
from kubelet_sim.state import UP, Container, ContainerSpec, Pull, Role, State
from kubeloop.apimachinery.times import moment_after

FIRST_BACKOFF_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 300.0
MINIMUM_GRACE_SECONDS = 2.0  # between the signals to stop and to die
SANDBOX_SECONDS = 0.02  # what a pod takes whose images are there
NOTICE_SECONDS = 1.0  # how long a kubelet takes to see that something ended
_AT_ONCE = datetime.min.replace(tzinfo=UTC)


def its_turn(scene: Scene) -> datetime | None:
    """Init containers go one by one; those that come before must have ended well, sidecars have started."""
    if scene.runtime.starts_nothing or not scene.runtime.may_start or _waits_for_image_of_volume(scene):
        return None
    return its_place(scene)


def _waits_for_image_of_volume(scene: Scene) -> bool:
    """All are tried before anything starts, and those that it mounts have to be there."""
    known = scene.runtime.volume_images
    return any(not one.is_tried or (one.pull is not Pull.DONE and one.name in scene.spec.mounted) for one in known)


def its_place(scene: Scene) -> datetime | None:
    """The same as far as the pod's other containers go."""
    turn = _AT_ONCE
    if scene.spec.role is Role.EPHEMERAL:
        return turn
    for spec, container in scene.others():
        if spec.role is Role.REGULAR or spec is scene.spec:
            return turn
        done = _initialized_at(spec, container)
        if done is None:
            return None
        turn = max(turn, done)
    return turn


def is_held_back(scene: Scene) -> bool:
    """A kubelet starts one container of a pod after the other: also its postStart hook has to end first."""
    return any(one.state in (State.CREATING, State.HOOK_FAILED) for one in scene.runtime.containers)


def _initialized_at(spec: ContainerSpec, container: Container) -> datetime | None:
    run = container.run
    if run is None or run.started_at is None:
        return None
    if spec.role is Role.SIDECAR:
        return probing.started_at(spec, container)
    has_ended_well = container.state is State.EXITED and run.exit_code == 0
    return run.finished_at if has_ended_well else None


def hook_is_over(scene: Scene) -> datetime | None:
    """It has ended well. A pod that is to end does not wait for it."""
    if scene.spec.is_real:
        return None  # that is observed
    if scene.runtime.starts_nothing:
        return scene.container.since
    return None if scene.spec.behaviour.post_start.exit_code else _hook_end(scene)


def hook_fails(scene: Scene) -> datetime | None:
    if scene.spec.is_real or scene.runtime.starts_nothing or not scene.spec.behaviour.post_start.exit_code:
        return None
    return _hook_end(scene)


def _hook_end(scene: Scene) -> datetime | None:
    assert scene.container.since is not None
    return _later(scene.container.since, scene.spec.behaviour.post_start.after_seconds)


def killed_after_hook(scene: Scene) -> datetime | None:
    """A container whose hook has failed has the pod's grace, or what is left of its life."""
    ends = [end.at for end in (_end_after_hook(scene), _end_of_pod(scene)) if end]
    return min(ends, default=None)


def is_killed_after_hook(scene: Scene) -> bool:
    """Whether it had to be killed."""
    end = _end_after_hook(scene)
    return end is not None and end.is_killed


def _end_after_hook(scene: Scene) -> _End | None:
    failed_at = _hook_end(scene)
    return _end(scene, failed_at, failed_at, scene.pod.grace_seconds) if failed_at else None


def pulled(scene: Scene) -> datetime | None:
    may_start = scene.spec.behaviour.is_pullable and scene.spec.name not in scene.runtime.config_errors
    return _pull_end(scene) if may_start else None


def pull_fails(scene: Scene) -> datetime | None:
    return None if scene.spec.behaviour.is_pullable else _pull_end(scene)


def config_fails(scene: Scene) -> datetime | None:
    is_missing = scene.spec.behaviour.is_pullable and scene.spec.name in scene.runtime.config_errors
    return _pull_end(scene) if is_missing else None


def image_is_refused(scene: Scene) -> datetime | None:
    return scene.container.since if is_image_refused(scene) and not scene.runtime.starts_nothing else None


def image_is_accepted(scene: Scene) -> datetime | None:
    return None if is_image_refused(scene) or scene.runtime.starts_nothing else _AT_ONCE


def is_image_refused(scene: Scene) -> bool:
    """It is not even asked for."""
    behaviour = scene.spec.behaviour
    return bool(behaviour.image_error) or (scene.spec.is_never_pulled and not behaviour.is_pullable)


def is_image_present(scene: Scene) -> bool:
    """Whether the container needs no pull: its image is on the node, or comes with something else of the pod."""
    spec = scene.spec
    if spec.is_never_pulled:
        return True
    if spec.is_always_pulled or spec.is_real or not spec.behaviour.is_pullable:
        return False
    reference, runtime = images.reference(spec.image), scene.runtime
    return (
        reference in runtime.images
        or any(one is not scene.container and one.image == spec.image for one in runtime.containers)
        or any(one.pull is Pull.DONE and images.reference(one.reference) == reference for one in runtime.volume_images)
    )


def _pull_end(scene: Scene) -> datetime | None:
    if scene.runtime.starts_nothing or is_image_refused(scene):
        return None
    assert scene.container.since is not None
    if scene.spec.is_real:
        return scene.container.since  # its image is not looked at
    if not scene.container.has_image:
        return scene.container.since + timedelta(seconds=scene.runtime.pull_seconds)
    if any(_is_pulling(one, scene.spec.image) for one in scene.runtime.containers):
        return None
    is_first = not any(one.run for one in scene.runtime.containers)
    return moment_after(scene.container.since, min(SANDBOX_SECONDS, scene.runtime.pull_seconds) if is_first else 0)


def _is_pulling(container: Container, image: str) -> bool:
    return container.state is State.PULLING and container.image == image and not container.has_image


def config_is_there(scene: Scene) -> datetime | None:
    is_missing = scene.spec.name in scene.runtime.config_errors
    return None if is_missing or scene.runtime.starts_nothing else _AT_ONCE


def pull_backs_off(scene: Scene) -> datetime | None:
    return _after_state(scene, NOTICE_SECONDS)


def pull_retried(scene: Scene) -> datetime | None:
    if scene.container.image != scene.spec.image and not scene.runtime.starts_nothing:
        return _AT_ONCE
    return _after_state(scene, backoff_seconds(scene.container.pull_failures) - NOTICE_SECONDS)


def _after_state(scene: Scene, seconds: float) -> datetime | None:
    if scene.runtime.starts_nothing or scene.container.since is None:
        return None
    return scene.container.since + timedelta(seconds=seconds)


def ends(scene: Scene) -> datetime | None:
    if scene.spec.is_real:
        return None  # that is observed
    moments = (natural_end(scene), stopped_at(scene), killed_at(scene), replaced_at(scene))
    return min((at for at in moments if at), default=None)


def natural_end(scene: Scene) -> datetime | None:
    run = scene.container.run
    assert run is not None and run.started_at is not None
    behaviour = scene.spec.behaviour
    begun = max(run.started_at, behaviour.ends_since) if behaviour.ends_since else run.started_at
    end = _later(begun, behaviour.exit_after_seconds)
    # Not before its resources were changed, which may have changed how it ends.
    return max(end, scene.container.since) if end and scene.container.since else end


def replaced_at(scene: Scene) -> datetime | None:
    """Somebody changed the image of a running container."""
    return scene.now if _has_other_image(scene) else None


def stopped_at(scene: Scene) -> datetime | None:
    """When a container that was told to stop has stopped: a sidecar is told when those it served are gone."""
    end = _end_of_pod(scene)
    return end.at if end else None


def killed_at(scene: Scene) -> datetime | None:
    """When a container has stopped that was told to while its pod goes on."""
    end = _end_by_order(scene)
    return end.at if end else None


def is_killed(scene: Scene, finished_at: datetime | None) -> bool:
    """Whether a container that was told to stop, and has by then, took longer than it might."""
    return any(end.is_killed for end in (_end_of_pod(scene), _end_by_order(scene)) if end and end.at == finished_at)


class _End(NamedTuple):
    at: datetime
    is_killed: bool


def _end_of_pod(scene: Scene) -> _End | None:
    told = told_to_stop(scene)
    if told is None:
        return None
    verdict = scene.runtime.verdict
    is_brief = verdict is not None and verdict.grace_seconds is not None
    return _end(scene, scene.runtime.stopping_since or told, told, grace_seconds(scene), is_brief)


def _end_by_order(scene: Scene) -> _End | None:
    order = scene.container.stop_order
    return _end(scene, order.at, order.at, order_grace_seconds(scene)) if order else None


def _end(scene: Scene, ordered: datetime, turn: datetime, grace: float, is_brief: bool = False) -> _End:
    """The preStop hook and waiting for its turn use up the grace, but for a last moment. `is_brief`: only those are
    done in it of whom that is said.
    """
    behaviour = scene.spec.behaviour
    signalled = max(turn, moment_after(ordered, min(behaviour.hook_seconds, grace)))
    left = max(grace - (signalled - ordered).total_seconds(), MINIMUM_GRACE_SECONDS)
    seconds = NEVER if is_brief and not behaviour.is_stop_said else behaviour.stop_seconds
    return _End(moment_after(signalled, min(seconds, left)), behaviour.is_deaf or seconds >= left)


def told_to_stop(scene: Scene) -> datetime | None:
    told = order = scene.runtime.stopping_since
    if scene.spec.role is not Role.SIDECAR:
        return order
    is_later = False
    for spec, container in scene.others():
        is_later = is_later or spec is scene.spec
        if spec is scene.spec or spec.role is Role.EPHEMERAL or (spec.role is Role.SIDECAR and not is_later):
            continue
        if container.state in UP or (order is None and not _is_over(scene, spec, container)):
            return None
        if container.run and container.run.finished_at:
            told = max(told or _AT_ONCE, container.run.finished_at)
    return told


def _is_over(scene: Scene, spec: ContainerSpec, container: Container) -> bool:
    if spec.role is Role.SIDECAR:
        return True
    is_ended = container.state is State.EXITED and container.run is not None
    return is_ended and not restarts.should_restart(scene.pod, spec, container)


def grace_seconds(scene: Scene) -> float:
    pod, verdict = scene.pod, scene.runtime.verdict
    if verdict and verdict.grace_seconds is not None:
        return verdict.grace_seconds
    return pod.deletion_grace_seconds if pod.deletion_deadline else pod.grace_seconds


def order_grace_seconds(scene: Scene) -> float:
    order = scene.container.stop_order
    return scene.pod.grace_seconds if order is None or order.grace_seconds is None else order.grace_seconds


def restarts_at_once(scene: Scene) -> datetime | None:
    is_first = scene.container.crashes == 0 and not _has_other_image(scene)
    return _noticed(scene) if is_first and _will_restart(scene) else None


def crashes_again(scene: Scene) -> datetime | None:
    is_repeated = scene.container.crashes > 0 and not _has_other_image(scene)
    return _noticed(scene) if is_repeated and _will_restart(scene) else None


def restarts_after_backoff(scene: Scene) -> datetime | None:
    if scene.runtime.starts_nothing or _has_other_image(scene):
        return None
    return _finished(scene) + timedelta(seconds=backoff_seconds(scene.container.crashes))


def starts_other_image(scene: Scene) -> datetime | None:
    return _noticed(scene) if _has_other_image(scene) and _will_restart(scene) else None


def starts_anew(scene: Scene) -> datetime | None:
    """With all of its pod, when its turn has come again."""
    turn = its_turn(scene)
    return max(turn, scene.container.since) if turn and scene.container.since else None


def _has_other_image(scene: Scene) -> bool:
    return scene.container.run is not None and scene.container.run.image != scene.spec.image


def _will_restart(scene: Scene) -> bool:
    """Not even a sidecar, once the pod needs it no more."""
    return (
        scene.runtime.restarting_since is None
        and told_to_stop(scene) is None
        and restarts.should_restart(scene.pod, scene.spec, scene.container)
    )


def _noticed(scene: Scene) -> datetime:
    return _finished(scene) + timedelta(seconds=NOTICE_SECONDS)


def _finished(scene: Scene) -> datetime:
    assert scene.container.run is not None
    return scene.container.run.finished_at or scene.runtime.arrived_at


def backoff_seconds(failures: int) -> float:
    """10 s after the first, doubled with each, 5 minutes at most."""
    return min(FIRST_BACKOFF_SECONDS * 2 ** min(max(failures - 1, 0), 10), MAX_BACKOFF_SECONDS)


def _later(moment: datetime, seconds: float) -> datetime | None:
    return None if seconds == NEVER else moment_after(moment, seconds)
