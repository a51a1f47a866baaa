"""When a running container counts as ready: its readiness probe passes, or its annotation says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubelet_sim import probing
from kubelet_sim.annotations import NEVER
from kubelet_sim.probes import Kind
from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec, Role, State
from kubeloop.apimachinery.times import moment_after


def is_ready(spec: ContainerSpec, container: Container, now: datetime) -> bool:
    """An init container is ready when it has ended well."""
    if spec.role is Role.INIT:
        return container.state is State.EXITED and container.run is not None and container.run.exit_code == 0
    if spec.role is Role.EPHEMERAL:
        return False
    started = probing.started_at(spec, container)
    if started is None or not probing.passes(spec, container, Kind.READINESS):
        return False
    seconds = spec.behaviour.ready_after_seconds
    return seconds == 0 or (seconds != NEVER and now >= _run_for(container, seconds, started))


def next_change(pod: PodSpec, runtime: PodRuntime, now: datetime) -> datetime | None:
    """When the next container will become ready that is not asked by a probe."""
    return min((moment for moment in _moments(pod, runtime) if moment > now), default=None)


def _moments(pod: PodSpec, runtime: PodRuntime) -> Iterator[datetime]:
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        seconds = spec.behaviour.ready_after_seconds
        if seconds not in (0, NEVER) and container.state is State.RUNNING and container.since is not None:
            yield _run_for(container, seconds, container.since)


def _run_for(container: Container, seconds: float, default: datetime) -> datetime:
    run = container.run
    return moment_after(run.started_at if run and run.started_at else default, seconds)
