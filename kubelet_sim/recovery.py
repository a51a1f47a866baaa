"""What a node remembers of a pod, made anew from its status: after a restart of this process nothing else is left.

Containers that ran still run: the pods of a real node outlive its kubelet, too. Back-off does not: what waits for it is
started at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kubelet_sim import allocation, image_volumes, naming
from kubelet_sim.container_status import NEVER_SEEN
from kubelet_sim.phase import TERMINAL
from kubelet_sim.probes import Kind, Probe
from kubelet_sim.restarts import RESTARTED_WITH_ALL
from kubelet_sim.state import (
    STATUS_FIELDS,
    Container,
    ContainerSpec,
    PodRuntime,
    PodSpec,
    Probed,
    Run,
    State,
)
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.times import parse_time


def recover(obj: ReadOnlyObject, pod: PodSpec, host_ip: str, pull_seconds: float, now: datetime) -> PodRuntime:
    """Of a pod that just arrived: all containers wait, and it has no address yet."""
    status = obj.get("status") or {}
    reported = {(field, one["name"]): one for field in set(STATUS_FIELDS.values()) for one in status.get(field) or ()}
    never_taken = pod.phase in TERMINAL and not reported
    is_real = any(spec.is_real for spec in pod.containers)
    return PodRuntime(
        uid=pod.uid,
        arrived_at=_time(status.get("startTime")) or now,
        containers=()
        if never_taken
        else tuple(
            _container(spec, reported.get((STATUS_FIELDS[spec.role], spec.name)), now) for spec in pod.containers
        ),
        pull_seconds=pull_seconds,
        ip=status.get("podIP") or "",
        host_ip=status.get("hostIP") or host_ip,
        is_rejected=never_taken,
        allocated=allocation.of_status(obj),
        sandbox_error=naming.problem(obj),
        # Nobody looks at the images of what is real.
        volume_images=() if is_real else image_volumes.of_spec(obj, _used(reported.values())),
    )


def _container(spec: ContainerSpec, status: Mapping[str, Any] | None, now: datetime) -> Container:
    """One that waited is as if it had just ended, or never begun. Back-off begins anew: it is nowhere written down."""
    if status is None:
        return Container(spec.name)
    state, image = status.get("state") or {}, status.get("image") or ""
    last = _ended_run((status.get("lastState") or {}).get("terminated"), image)
    restarts = status.get("restartCount") or 0
    if "running" in state:
        started_at = _time(state["running"].get("startedAt"))
        run = Run(status.get("containerID") or "", image, started_at)
        probed = _probed(spec, status, started_at, now) if started_at else {}
        return Container(spec.name, State.RUNNING, started_at, run, last, restarts, probed=probed)
    if "terminated" in state:
        ended = _ended_run(state["terminated"], image)
        if ended:
            return _exited(spec, ended, last, restarts)
    if last and last.reason == RESTARTED_WITH_ALL:
        return Container(spec.name, State.RESET, now, last, restarts=restarts)
    return _exited(spec, last, None, restarts) if last else Container(spec.name, restarts=restarts)


def _probed(
    spec: ContainerSpec, status: Mapping[str, Any], started_at: datetime, now: datetime
) -> Mapping[Kind, Probed]:
    """What its status says of it still holds; checks go on with the next period and count anew."""
    results = {Kind.STARTUP: status.get("started") or None, Kind.READINESS: bool(status.get("ready"))}
    age = (now - started_at).total_seconds()
    return {
        kind: Probed(results.get(kind, True), started_at, next_seconds=_next_beat(probe, age))
        for kind, probe in spec.behaviour.probes.items()
    }


def _next_beat(probe: Probe, age: float) -> float:
    return probe.delay + max(math.ceil((age - probe.delay) / probe.period), 0) * probe.period


def _exited(spec: ContainerSpec, run: Run | None, last: Run | None, restarts: int) -> Container:
    since = run.finished_at if run else None
    return Container(spec.name, State.EXITED, since, run, last, restarts)


def _ended_run(terminated: Mapping[str, Any] | None, image: str) -> Run | None:
    """None too for a container whose end was told although it never began."""
    if not terminated or terminated.get("reason") == NEVER_SEEN:
        return None
    return Run(
        terminated.get("containerID") or "",
        image,
        _time(terminated.get("startedAt")),
        _time(terminated.get("finishedAt")),
        terminated.get("exitCode") or 0,
        terminated.get("reason") or "",
        terminated.get("message") or "",
    )


def _used(statuses: Iterable[Mapping[str, Any]]) -> set[str]:
    """The volumes that containers mount which have run."""
    return {mount["name"] for one in statuses if one.get("imageID") for mount in one.get("volumeMounts") or ()}


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
