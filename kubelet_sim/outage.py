"""What an outage of its node does to a pod: nothing of it runs any more when the machine is up again. Pure."""

from __future__ import annotations

from datetime import datetime

from kubelet_sim.state import Container, PodRuntime, State

_EXIT_CODE = 255  # what containerd says of tasks that it finds dead


def after_reboot(runtime: PodRuntime, rebooted_at: datetime) -> PodRuntime:
    """Containers that ran before are found dead, and restart as their policies say."""
    if not any(_ran_before(container, rebooted_at) for container in runtime.containers):
        return runtime
    containers = (
        _dead(container, rebooted_at) if _ran_before(container, rebooted_at) else container
        for container in runtime.containers
    )
    return runtime._replace(containers=tuple(containers))


def _ran_before(container: Container, moment: datetime) -> bool:
    run = container.run
    return container.state is State.RUNNING and run is not None and (run.started_at is None or run.started_at < moment)


def _dead(container: Container, moment: datetime) -> Container:
    assert container.run is not None
    run = container.run._replace(finished_at=moment, exit_code=_EXIT_CODE, reason="Unknown")
    return container._replace(state=State.EXITED, since=moment, run=run, stop_order=None)
