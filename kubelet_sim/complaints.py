"""What keeps a pod from starting is told again and again: whoever looks a day later still finds it. Pure.

A kubelet tells it with every try (mounts from half a second to two minutes apart, containers about every ten seconds);
here the pauses grow from ten seconds to two minutes, so that many such pods cost little.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubelet_sim import tales
from kubelet_sim.scene import Scene
from kubelet_sim.state import Complaint, Happening, PodRuntime, PodSpec, State
from kubeloop.apimachinery.times import moment_after

FIRST_SECONDS, MOST_SECONDS = 10.0, 122.0


def repeated(pod: PodSpec, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, list[Happening], datetime | None]:
    """What was told before and still holds, and when it is due again. What is new others tell at once."""
    current = [] if runtime.starts_nothing else list(_complaints(pod, runtime, now))
    what, before = frozenset(one.message for one in current), runtime.complaint
    if not current:
        return (runtime._replace(complaint=None) if before else runtime), [], None
    if before is None or before.what != what:
        due = moment_after(now, FIRST_SECONDS)
        return runtime._replace(complaint=Complaint(what, FIRST_SECONDS, due)), [], due
    if now < before.due:
        return runtime, [], before.due
    pause = min(before.pause_seconds * 2, MOST_SECONDS)
    due = moment_after(now, pause)
    return runtime._replace(complaint=Complaint(what, pause, due)), current, due


def _complaints(pod: PodSpec, runtime: PodRuntime, now: datetime) -> Iterator[Happening]:
    yield from map(tales.not_mounted, runtime.mount_errors)
    if runtime.claim_problem:
        yield tales.unmounted(next(iter(runtime.unattached), ""), runtime.claim_problem)
    if runtime.device_error:
        yield tales.no_devices(runtime.device_error)
    if runtime.sandbox_error:
        yield tales.no_sandbox(runtime.sandbox_error)
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        scene = Scene(pod, runtime, spec, container, now)
        if container.state is State.CONFIG_ERROR and spec.name in runtime.config_errors:
            yield from tales.still_misconfigured(scene)
        elif container.state is State.IMAGE_ERROR:
            yield from tales.image_refused(scene)
