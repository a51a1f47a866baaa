"""A pod that starts all over in its place: one of its containers ended as a rule RestartAllContainers says. Pure.

Semantics: kuberuntime_manager.go and kubelet_pods.go (v1.36). All its containers are killed without a grace, and when
nothing runs any more they go through the pod's start again, init containers first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kubelet_sim import restarts
from kubelet_sim.phase import TERMINAL
from kubelet_sim.state import UP, Container, Happening, PodRuntime, PodSpec, Role, Run, State, StopOrder

CONDITION = "AllContainersRestarting"
MESSAGE = "The container is removed because RestartAllContainers in place"

_NOTICE = timedelta(seconds=1)


def is_possible(spec: Mapping[str, Any]) -> bool:
    """Whether a container of a pod with this spec has such a rule."""
    ruled = [
        rules
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
        if (rules := container.get("restartPolicyRules"))
    ]
    return any(rule.get("action") == restarts.ALL for rules in ruled for rule in rules)


def begin(pod: PodSpec, runtime: PodRuntime) -> tuple[PodRuntime, Sequence[Happening]]:
    """Once a container has ended so, the others are told to stop."""
    if not pod.restarts_all or runtime.restarting_since or runtime.stopping_since or pod.phase in TERMINAL:
        return runtime, ()
    pairs = list(zip(pod.containers, runtime.containers, strict=True))
    ends = [one.run.finished_at for spec, one in pairs if restarts.restarts_all(spec, one) and one.run]
    since = min((end for end in ends if end), default=None)
    if since is None:
        return runtime, ()
    told = [
        Happening("Normal", "Killing", "killing", spec)
        for spec, one in pairs
        if one.state in UP and spec.role is not Role.EPHEMERAL
    ]
    order = StopOrder(since, 0.0, is_restarted=True)
    containers = tuple(
        one._replace(stop_order=order) if one.state in UP and spec.role is not Role.EPHEMERAL else one
        for spec, one in pairs
    )
    return runtime._replace(containers=containers, restarting_since=since), told


def ends_at(pod: PodSpec, runtime: PodRuntime) -> datetime | None:
    """When its containers begin anew; None while one of them runs."""
    if runtime.restarting_since is None or runtime.stopping_since:
        return None
    mine = [
        one for spec, one in zip(pod.containers, runtime.containers, strict=True) if spec.role is not Role.EPHEMERAL
    ]
    if any(one.state in UP for one in mine):
        return None
    ends = [one.run.finished_at for one in mine if one.run and one.run.finished_at]
    return max((runtime.restarting_since, *ends)) + _NOTICE


def end(pod: PodSpec, runtime: PodRuntime, at: datetime) -> PodRuntime:
    """What has run waits for its turn again, and remembers nothing of how it ended."""
    containers = tuple(
        one if spec.role is Role.EPHEMERAL or one.run is None else _reset(one, at)
        for spec, one in zip(pod.containers, runtime.containers, strict=True)
    )
    return runtime._replace(containers=containers, restarting_since=None)


def _reset(container: Container, at: datetime) -> Container:
    assert container.run is not None
    run = Run("", container.run.image, None, None, 137, restarts.RESTARTED_WITH_ALL, MESSAGE)
    return container._replace(
        state=State.RESET,
        since=at,
        run=run,
        last_run=None,
        restarts=container.restarts + 1,
        probed={},
        stop_order=None,
        resources=None,
    )
