"""The status of one container as a kubelet reports it (convertToAPIContainerStatuses, v1.36)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kubelet_sim import hooks, image_volumes, moments, probing, readiness, restarts
from kubelet_sim.observations import START_ERROR
from kubelet_sim.scene import Scene
from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec, Role, Run, State
from kubelet_sim.tales import pull_error, refusal
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

# Why a container ended that never began.
NEVER_SEEN = "ContainerStatusUnknown"
_UNKNOWN = {
    "reason": NEVER_SEEN,
    "message": "The container could not be located when the pod was terminated",
    "exitCode": 137,
    "startedAt": None,
    "finishedAt": None,
}


def status_of(pod: PodSpec, runtime: PodRuntime, spec: ContainerSpec, container: Container, now: datetime) -> Object:
    run = container.run
    status: Object = {
        "name": spec.name,
        "state": _state(pod, runtime, spec, container, now),
        "lastState": _last_state(pod, spec, container),
        "ready": readiness.is_ready(spec, container, now),
        "restartCount": container.restarts,
        "image": run.image if run else spec.image,
        "imageID": run.image if run and run.id else "",
    }
    if run and run.id:
        status["containerID"] = run.id
    if spec.role is not Role.EPHEMERAL:
        status["started"] = probing.started_at(spec, container) is not None
        status |= _resources(spec, container) if run else {}
    mounts = [_mount(mount) for mount in spec.fields.get("volumeMounts") or ()]
    return status | ({"volumeMounts": mounts} if mounts else {})


def _state(pod: PodSpec, runtime: PodRuntime, spec: ContainerSpec, container: Container, now: datetime) -> Object:
    if container.state is State.RUNNING:
        return {"running": {"startedAt": _time(container.run)}}
    if _shows_its_end(container) and container.run and not _failed_to_start(pod, spec, container):
        return {"terminated": _terminated(container.run)}
    if runtime.stopping_since and not runtime.is_running:
        if container.run:
            return {"terminated": _terminated(container.run)}
        if spec.role is Role.REGULAR and _was_initialized(pod, runtime):
            return {"terminated": dict(_UNKNOWN)}
    return {"waiting": _waiting(pod, runtime, spec, container, now)}


def _shows_its_end(container: Container) -> bool:
    """Also of one that the outage of its node ended, until its turn has come."""
    is_anew = container.state is State.RESET and container.run is not None and container.run.finished_at is not None
    return container.state is State.EXITED or is_anew


def _failed_to_start(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    """It will be tried again, which shows as waiting."""
    run = container.run
    has_failed = run is not None and (run.reason == START_ERROR or bool(run.hook_error))
    return has_failed and container.state is State.EXITED and restarts.should_restart(pod, spec, container)


def _was_initialized(pod: PodSpec, runtime: PodRuntime) -> bool:
    """From then on, a container that was never seen counts as failed."""
    pairs = list(zip(pod.containers, runtime.containers, strict=True))
    init = [container for spec, container in pairs if spec.role is Role.INIT]
    has_begun = any(container.run for spec, container in pairs if spec.role is Role.REGULAR)
    return has_begun or all(container.run and container.run.exit_code == 0 for container in init)


def _waiting(pod: PodSpec, runtime: PodRuntime, spec: ContainerSpec, container: Container, now: datetime) -> Object:
    image = container.image or spec.image
    if container.state is State.IMAGE_ERROR:
        reason, message = refusal(spec.image)
        return {"reason": reason, "message": message}
    if container.state is State.PULL_FAILED:
        return {"reason": "ErrImagePull", "message": pull_error(image)}
    if container.state is State.PULL_BACKOFF:
        message = f'Back-off pulling image "{image}": ErrImagePull: {pull_error(image)}'
        return {"reason": "ImagePullBackOff", "message": message}
    if container.state is State.CONFIG_ERROR:
        message = runtime.config_errors.get(spec.name, "")
        return {"reason": "CreateContainerConfigError", **({"message": message} if message else {})}
    if container.state is State.CRASH_BACKOFF:
        delay = _spelled(moments.backoff_seconds(container.crashes))
        message = f"back-off {delay} restarting failed container={spec.name} pod={pod.title}"
        return {"reason": "CrashLoopBackOff", "message": message}
    if container.state is State.RESET and container.run:
        return {"reason": container.run.reason, "message": container.run.message}
    if container.run and container.run.hook_error:  # also while it is tried again
        return {"reason": hooks.FAILED, "message": container.run.hook_error}
    if _failed_to_start(pod, spec, container) and container.run:
        return {"reason": "RunContainerError", "message": container.run.message}
    if container.state is State.WAITING:
        scene = Scene(pod, runtime, spec, container, now)
        for one in runtime.volume_images:
            reason, message = image_volumes.waiting(one)
            if reason and one.name in spec.mounted and moments.its_place(scene) is not None:
                return {"reason": reason, "message": message}
    return {"reason": "PodInitializing" if pod.has_init_containers else "ContainerCreating"}


def _last_state(pod: PodSpec, spec: ContainerSpec, container: Container) -> Object:
    """A run that is over and not the state itself."""
    is_shown = (container.state is State.RUNNING or _shows_its_end(container)) and not _failed_to_start(
        pod, spec, container
    )
    last = container.last_run if is_shown else container.run or container.last_run
    return {"terminated": _terminated(last)} if last else {}


def _terminated(run: Run) -> Object:
    message = {"message": run.message} if run.message else {}
    return {
        "exitCode": run.exit_code,
        "reason": run.reason,
        **message,
        "startedAt": _time(run),
        "finishedAt": format_time(run.finished_at) if run.finished_at else None,
        **({"containerID": run.id} if run.id else {}),
    }


def _time(run: Run | None) -> str | None:
    return format_time(run.started_at) if run and run.started_at else None


def _resources(spec: ContainerSpec, container: Container) -> Object:
    """Of the container that runs, and what is allocated to it."""
    allocated = spec.fields.get("resources") or {}
    is_old = container.state is State.RUNNING and container.resources is not None
    requests = allocated.get("requests")
    return {
        "resources": container.resources if is_old else allocated,
        **({"allocatedResources": requests} if requests else {}),
    }


def _mount(mount: Mapping[str, Any]) -> Object:
    status = {"name": mount["name"], "mountPath": mount.get("mountPath") or ""}
    if mount.get("readOnly"):
        is_enabled = mount.get("recursiveReadOnly") in ("Enabled", "IfPossible")
        status |= {"readOnly": True, "recursiveReadOnly": "Enabled" if is_enabled else "Disabled"}
    return status


def _spelled(seconds: float) -> str:
    """Go's duration: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
