"""What an outage of its node does to a pod: nothing of it runs any more when the machine is up again. Pure.

Semantics: computePodActions of kuberuntime_manager.go (v1.36). The sandbox is gone with the machine, so the pod goes
through its start again, init containers first; and a kubelet that has just started knows of no back-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubelet_sim import tales
from kubelet_sim.phase import TERMINAL
from kubelet_sim.state import Container, ContainerSpec, Happening, PodRuntime, PodSpec, Role, State

_EXIT_CODE = 255  # what containerd says of tasks that it finds dead


def after_reboot(pod: PodSpec, runtime: PodRuntime, rebooted_at: datetime) -> tuple[PodRuntime, Sequence[Happening]]:
    """Containers that ran before are found dead. Those that are to run again do so in a new sandbox, as their policies
    say. What has come to the node since is left alone, and the same reboot counts once.
    """
    if rebooted_at == runtime.rebooted_at or runtime.arrived_at >= rebooted_at or runtime.is_rejected:
        return runtime, ()
    containers = tuple(_dead(one, rebooted_at) if _ran_before(one, rebooted_at) else one for one in runtime.containers)
    runtime = runtime._replace(containers=containers, rebooted_at=rebooted_at)
    if pod.phase in TERMINAL or runtime.stopping_since or not _begins_anew(pod, runtime):
        return runtime, ()
    pairs = zip(pod.containers, runtime.containers, strict=True)
    anew = tuple(_anew(pod, spec, one, rebooted_at) for spec, one in pairs)
    has_run = any(one.run for one in anew)
    return runtime._replace(containers=anew, restarting_since=None), (tales.SANDBOX_CHANGED,) if has_run else ()


def _ran_before(container: Container, moment: datetime) -> bool:
    run = container.run
    return container.state is State.RUNNING and run is not None and (run.started_at is None or run.started_at < moment)


def _dead(container: Container, moment: datetime) -> Container:
    assert container.run is not None
    run = container.run._replace(finished_at=moment, exit_code=_EXIT_CODE, reason="Unknown")
    return container._replace(state=State.EXITED, since=moment, run=run, stop_order=None)


def _begins_anew(pod: PodSpec, runtime: PodRuntime) -> bool:
    """A pod that is never restarted stays as it is once one of its containers has run, and so does one that is done."""
    pairs = list(zip(pod.containers, runtime.containers, strict=True))
    if pod.restart_policy == "Never" and any(one.run for _, one in pairs):
        return False
    regular = [(spec, one) for spec, one in pairs if spec.role is Role.REGULAR]
    has_begun = any(one.run for _, one in regular)
    return not has_begun or any(not _is_done(pod, spec, one) for spec, one in regular)


def _is_done(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    """It has ended well and is to run once."""
    policy = spec.fields.get("restartPolicy") or pod.restart_policy
    has_ended = container.run is not None and container.run.finished_at is not None
    return policy == "OnFailure" and has_ended and container.run is not None and container.run.exit_code == 0


def _anew(pod: PodSpec, spec: ContainerSpec, container: Container, moment: datetime) -> Container:
    """It waits for its turn, with nothing held against it: neither crashes nor images that were not to be had."""
    was_here = container.since is None or container.since <= moment
    if not was_here or spec.role is Role.EPHEMERAL or (spec.role is Role.REGULAR and _is_done(pod, spec, container)):
        return container
    if container.run is None:
        return container._replace(state=State.WAITING, since=None, pull_failures=0, image="", has_image=False)
    return container._replace(
        state=State.RESET, since=moment, crashes=0, pull_failures=0, probed={}, stop_order=None, resources=None
    )
