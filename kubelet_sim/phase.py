"""The phase of a pod from the states of its containers: getPhase of pkg/kubelet/kubelet_pods.go (v1.36)."""

from __future__ import annotations

from kubelet_sim import probing, restarts
from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec, Role, State

_SERVING = (Role.SIDECAR, Role.REGULAR)
TERMINAL = ("Succeeded", "Failed")


def phase_of(pod: PodSpec, runtime: PodRuntime) -> str:
    """A terminal phase, once the API has it, stays; the node's verdict is told when nothing of the pod runs.

    A pod that a kubelet evicts or preempts succeeds all the same when its containers end well (SyncTerminatingPod).
    """
    if pod.phase in TERMINAL:
        return pod.phase
    if runtime.verdict and runtime.is_running:
        return pod.phase or "Pending"
    if runtime.verdict and (runtime.is_rejected or runtime.verdict.is_lasting):
        return "Failed"
    pairs = list(zip(pod.containers, runtime.containers, strict=True))
    if runtime.stopping_since and not runtime.is_running:
        return _phase_when_stopped(pairs)
    init = [(spec, container) for spec, container in pairs if spec.role is Role.INIT]
    if any(_failed_for_good(pod, spec, container) for spec, container in init):
        return "Failed"
    if any(not _has_ended(container) for _, container in init) or _waits_for_sidecars(pairs):
        return "Pending"
    return _phase_of_regular(pod, pairs)


def _phase_when_stopped(pairs: list[tuple[ContainerSpec, Container]]) -> str:
    """What never ran, or nobody knows about, counts as failed."""
    regular = [container for spec, container in pairs if spec.role is Role.REGULAR]
    ended_well = all(_has_ended(container) and container.run and container.run.exit_code == 0 for container in regular)
    return "Succeeded" if ended_well else "Failed"


def _phase_of_regular(pod: PodSpec, pairs: list[tuple[ContainerSpec, Container]]) -> str:
    regular = [(spec, container) for spec, container in pairs if spec.role is Role.REGULAR]
    if any(container.state is not State.RUNNING and not _has_ended(container) for _, container in regular):
        return "Pending"
    if any(container.state is State.RUNNING for spec, container in pairs if spec.role in _SERVING):
        return "Running"
    if any(_may_restart(pod, spec, container) for spec, container in regular):
        return "Running"
    return "Succeeded" if all(c.run and c.run.exit_code == 0 for _, c in regular) else "Failed"


def _waits_for_sidecars(pairs: list[tuple[ContainerSpec, Container]]) -> bool:
    if any(container.run for spec, container in pairs if spec.role is Role.REGULAR):
        return False  # was initialized once
    return any(
        not probing.started_at(spec, container)
        for spec, container in pairs
        if spec.role is Role.SIDECAR and not _has_ended(container)
    )


def _failed_for_good(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    run = container.run
    failed = _has_ended(container) and run is not None and run.exit_code != 0
    return failed and not _may_restart(pod, spec, container)


def _may_restart(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    return container.run is not None and restarts.is_restartable(pod, spec, container)


def _has_ended(container: Container) -> bool:
    """It has run and does not run now: it is terminated, or waits to run again."""
    return container.run is not None and container.state is not State.RUNNING
