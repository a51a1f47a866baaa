"""The life of a container as a table: from which state it goes where, when, what changes then, and what is told.

`advance` takes every step that is due, earliest first, and says when the next one will be; it is pure. The rules that
the table names are in moments, changes and tales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from kubelet_sim import changes, moments, probing, restarting, tales
from kubelet_sim.probes import Kind
from kubelet_sim.scene import Scene
from kubelet_sim.state import UP, Container, Happening, PodRuntime, PodSpec, State

_MAX_STEPS = 10_000  # more is taken at the next look: a crash loop that nobody watched for months


@dataclass(frozen=True, slots=True)
class Transition:
    """`at`: when it is due; None while nothing but a change of something else can bring it about."""

    source: State
    target: State
    at: Callable[[Scene], datetime | None]
    change: Callable[[Scene], Container]
    tell: Callable[[Scene], Sequence[Happening]] = lambda scene: ()


def advance(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, list[Happening], datetime | None]:
    """The runtime after everything that was due by `now`, what is to be told of it, and when the next step is due."""
    happenings: list[Happening] = []
    for _ in range(_MAX_STEPS):
        runtime, told = restarting.begin(pod, runtime)
        happenings += told
        first, first_at, next_at = _next_steps(pod, runtime, now)
        anew_at = restarting.ends_at(pod, runtime)
        if anew_at is not None and anew_at <= first_at:
            runtime = restarting.end(pod, runtime, anew_at)
            continue
        if first is None:
            return runtime, happenings, _earlier(next_at, anew_at)
        i, step = first
        scene = Scene(pod, runtime, pod.containers[i], runtime.containers[i], now)
        changed = step.change(scene)._replace(state=_entered(step, scene))
        happenings += step.tell(scene)
        runtime = runtime._replace(containers=(*runtime.containers[:i], changed, *runtime.containers[i + 1 :]))
    return runtime, happenings, _earlier(_next_steps(pod, runtime, now)[2], restarting.ends_at(pod, runtime))


def _next_steps(
    pod: PodSpec, runtime: PodRuntime, now: datetime
) -> tuple[tuple[int, Transition] | None, datetime, datetime | None]:
    """The earliest step that is due by `now`, with its container, and when it was (`now` where there is none); and when
    the first after `now` is due.
    """
    first, first_at, next_at = None, now, None
    for at, i, step in _steps(pod, runtime, now):
        if at > now:
            next_at = _earlier(next_at, at)
        elif first is None or at < first_at:
            first, first_at = (i, step), at
    return first, first_at, next_at


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return one or other
    return min(one, other)


def _entered(step: Transition, scene: Scene) -> State:
    """What takes time to start is being created until then."""
    return State.CREATING if _is_start(step) and scene.spec.is_created_first else step.target


def _is_start(step: Transition) -> bool:
    return step.target is State.RUNNING and step.source not in UP


def _steps(pod: PodSpec, runtime: PodRuntime, now: datetime) -> Iterator[tuple[datetime, int, Transition]]:
    for i, (spec, container) in enumerate(zip(pod.containers, runtime.containers, strict=True)):
        scene = Scene(pod, runtime, spec, container, now)
        for step in TRANSITIONS_FROM[container.state]:
            if _is_start(step) and moments.is_held_back(scene):
                continue
            at = step.at(scene)
            if at is not None:
                yield at, i, step


def _checks(kind: Kind) -> Transition:
    """The checks of a probe leave the container running; one that failed for good has it told to stop."""

    def at(scene: Scene) -> datetime | None:
        check = probing.next_check(scene, kind)
        return check.at if check else None

    return Transition(
        State.RUNNING, State.RUNNING, at, partial(probing.checked, kind=kind), partial(tales.checked, kind=kind)
    )


TRANSITIONS = (
    Transition(State.WAITING, State.PULLING, moments.its_turn, changes.begin_pull, tales.pulling),
    Transition(State.PULLING, State.IMAGE_ERROR, moments.image_is_refused, changes.note_time, tales.image_refused),
    Transition(State.IMAGE_ERROR, State.PULLING, moments.image_is_accepted, changes.begin_pull, tales.pulling),
    Transition(State.PULLING, State.PULL_FAILED, moments.pull_fails, changes.fail_pull, tales.pull_failed),
    Transition(State.PULLING, State.CONFIG_ERROR, moments.config_fails, changes.note_time, tales.config_error),
    Transition(State.PULLING, State.RUNNING, moments.pulled, changes.start, tales.first_start),
    Transition(State.PULL_FAILED, State.PULL_BACKOFF, moments.pull_backs_off, changes.note_time, tales.pull_backoff),
    Transition(State.PULL_BACKOFF, State.PULLING, moments.pull_retried, changes.begin_pull, tales.pulling),
    Transition(State.CONFIG_ERROR, State.RUNNING, moments.config_is_there, changes.start, tales.restart),
    Transition(State.CREATING, State.RUNNING, moments.hook_is_over, changes.begun_before_hook),
    Transition(State.CREATING, State.HOOK_FAILED, moments.hook_fails, changes.unchanged, tales.hook_failed),
    Transition(State.HOOK_FAILED, State.EXITED, moments.killed_after_hook, changes.killed_after_hook),
    Transition(State.RUNNING, State.EXITED, moments.ends, changes.end, tales.replaced),
    *map(_checks, Kind),
    Transition(State.RESET, State.RUNNING, moments.starts_anew, changes.start, tales.restart),
    Transition(State.EXITED, State.RUNNING, moments.restarts_at_once, changes.start, tales.restart),
    Transition(State.EXITED, State.CRASH_BACKOFF, moments.crashes_again, changes.note_time, tales.crash),
    Transition(State.EXITED, State.PULLING, moments.starts_other_image, changes.begin_pull, tales.pulling),
    Transition(State.CRASH_BACKOFF, State.PULLING, moments.starts_other_image, changes.begin_pull, tales.pulling),
    Transition(State.CRASH_BACKOFF, State.RUNNING, moments.restarts_after_backoff, changes.start, tales.restart),
)
TRANSITIONS_FROM = {state: tuple(step for step in TRANSITIONS if step.source is state) for state in State}
