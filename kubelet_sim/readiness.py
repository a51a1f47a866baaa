"""When a running container counts as started and as ready: its probes' delays, or its annotation, say so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubelet_sim.behaviour import NEVER
from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec, Role, State
from kubeloop.apimachinery.times import moment_after


def is_started(spec: ContainerSpec, container: Container, now: datetime) -> bool:
    """The startup probe, where there is one, has succeeded."""
    return _has_run(container, spec.behaviour.started_after_seconds, now)


def is_ready(spec: ContainerSpec, container: Container, now: datetime) -> bool:
    """An init container is ready when it has ended well."""
    if spec.role is Role.INIT:
        return container.state is State.EXITED and container.run is not None and container.run.exit_code == 0
    return _has_run(container, spec.behaviour.ready_after_seconds, now)


def next_change(pod: PodSpec, runtime: PodRuntime, now: datetime) -> datetime | None:
    """When the next container will become started or ready, if nothing else happens."""
    return min((moment for moment in _moments(pod, runtime) if moment > now), default=None)


def _moments(pod: PodSpec, runtime: PodRuntime) -> Iterator[datetime]:
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        if container.state is State.RUNNING and container.run and container.run.started_at:
            for seconds in (spec.behaviour.started_after_seconds, spec.behaviour.ready_after_seconds):
                if seconds != NEVER:
                    yield moment_after(container.run.started_at, seconds)


def _has_run(container: Container, seconds: float, now: datetime) -> bool:
    run = container.run
    if container.state is not State.RUNNING or run is None or run.started_at is None or seconds == NEVER:
        return False
    return now >= moment_after(run.started_at, seconds)
