"""Resources of running pods that change in place: what a node has allocated, what is asked for, what is told. Pure.

Semantics: pkg/kubelet/allocation and events/resize.go (v1.36). A node goes by what it has allocated and not by the
spec; it allocates what is asked for as soon as there is room, and a moment later the containers have it. What is larger
than the whole node never comes so far: the API server refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubelet_sim.state import (
    Container,
    ContainerSpec,
    Happening,
    PodRuntime,
    PodSpec,
    Resizing,
    Role,
    State,
    StopOrder,
    Verdict,
)
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, generation_of
from kubeloop.apimachinery.times import moment_after

ACTUATION_SECONDS = 1.0

_LISTS = ("initContainers", "containers")
_KINDS = ("limits", "requests")
_RESIZED = ("cpu", "memory")
_NOTHING: Mapping[str, Any] = {}
POD = ""  # beside the names of containers: what the pod as a whole has


def of_spec(pod: ReadOnlyObject) -> dict[str, Mapping[str, Any]]:
    """The resources of the pod and of its containers by name."""
    whole = {POD: pod["spec"].get("resources") or _NOTHING}
    return whole | {one["name"]: one.get("resources") or _NOTHING for _, one in _containers(pod)}


def of_status(pod: ReadOnlyObject) -> dict[str, Mapping[str, Any]]:
    """What its node had allocated before it forgot: what containers that run are reported to have."""
    status = pod.get("status") or {}
    reported = {
        one["name"]: one["resources"]
        for field in ("initContainerStatuses", "containerStatuses")
        for one in status.get(field) or ()
        if "resources" in one and "running" in (one.get("state") or {})
    }
    return of_spec(pod) | reported | {POD: _of_pod_status(pod["spec"].get("resources") or _NOTHING, status)}


def _of_pod_status(asked: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
    """A running pod reports what it has of what was asked for it as a whole, and what its containers have together."""
    reported = status.get("resources") or _NOTHING
    if status.get("phase") != "Running":
        return asked
    return {
        kind: {name: (reported.get(kind) or _NOTHING).get(name, amount) for name, amount in amounts.items()}
        for kind, amounts in asked.items()
    }


def is_changed(pod: ReadOnlyObject, allocated: Mapping[str, Any]) -> bool:
    """Whether other resources are asked for than are allocated."""
    if (pod["spec"].get("resources") or _NOTHING) != allocated.get(POD, _NOTHING):
        return True
    return any((one.get("resources") or _NOTHING) != allocated.get(one["name"]) for _, one in _containers(pod))


def with_allocated(pod: ReadOnlyObject, allocated: Mapping[str, Any]) -> Object:
    """The pod as its node sees it."""
    spec = dict(pod["spec"])
    if "resources" in spec:
        spec["resources"] = allocated.get(POD, {})
    for field in _LISTS:
        if field in spec:
            spec[field] = [{**one, "resources": allocated.get(one["name"], {})} for one in spec[field]]
    return {**pod, "spec": spec}


def defer(pod: ReadOnlyObject, runtime: PodRuntime, why: Verdict) -> tuple[PodRuntime, Sequence[Happening]]:
    """There is no room now; told once for each generation of the pod."""
    before, generation = runtime.resize_pending, generation_of(pod)
    pending = replace(why, generation=generation)
    if before and before.generation == generation:
        return runtime._replace(resize_pending=pending), ()
    message = f"Pod resize {why.reason}: {_summary(pod, generation, why.message)}"
    return runtime._replace(resize_pending=pending), (Happening("Warning", "ResizeDeferred", message),)


def accept(
    wanted: ReadOnlyObject, pod: PodSpec, runtime: PodRuntime, now: datetime
) -> tuple[PodRuntime, Sequence[Happening]]:
    """There is room. Containers whose policy says so are restarted; what does not run starts with the new resources."""
    generation = generation_of(wanted)
    told = [Happening("Normal", "ResizeStarted", f"Pod resize started: {_summary(wanted, generation)}")]
    allocated = of_spec(wanted)
    containers = []
    for spec, container in zip(pod.containers, runtime.containers, strict=True):
        before, after = runtime.allocated.get(spec.name, _NOTHING), allocated.get(spec.name, _NOTHING)
        if container.state is State.RUNNING and before != after:
            container = container._replace(resources=before, since=now)
            if not container.stop_order and _needs_restart(spec, before, after):
                container = container._replace(stop_order=StopOrder(now, None, is_restarted=True))
                kind = "Container" if spec.role is Role.REGULAR else "Init container"
                told.append(Happening("Normal", "Killing", f"{kind} {spec.name} resize requires restart", spec))
        containers.append(container)
    resized = runtime._replace(
        containers=tuple(containers),
        allocated=allocated,
        resize_pending=None,
        resizing=Resizing(generation, now, runtime.allocated.get(POD, _NOTHING)),
    )
    return resized, told


def actuate(pod: ReadOnlyObject, runtime: PodRuntime, now: datetime) -> tuple[PodRuntime, Sequence[Happening]]:
    """Once the containers have been given what was allocated, the resize is completed. `pod`: as its node sees it."""
    resizing = runtime.resizing
    if resizing is None or now < ends_at(resizing) or any(map(_awaits_restart, runtime.containers)):
        return runtime, ()
    containers = tuple(one._replace(resources=None) if one.resources else one for one in runtime.containers)
    message = f"Pod resize completed: {_summary(pod, resizing.generation)}"
    return runtime._replace(containers=containers, resizing=None), (Happening("Normal", "ResizeCompleted", message),)


def with_what_it_has(pod: ReadOnlyObject, runtime: PodRuntime) -> ReadOnlyObject:
    """The pod, as its node sees it, with what it has as a whole until a resize under way is completed."""
    if runtime.resizing is None or "resources" not in pod["spec"]:
        return pod
    return {**pod, "spec": {**pod["spec"], "resources": runtime.resizing.pod_before}}


def ends_at(resizing: Resizing) -> datetime:
    return moment_after(resizing.since, ACTUATION_SECONDS)


def _awaits_restart(container: Container) -> bool:
    return container.stop_order is not None and container.stop_order.is_restarted


def _needs_restart(spec: ContainerSpec, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    policies = {one["resourceName"]: one["restartPolicy"] for one in spec.fields.get("resizePolicy") or ()}
    return any(
        policies.get(resource) == "RestartContainer"
        and any((before.get(kind) or {}).get(resource) != (after.get(kind) or {}).get(resource) for kind in _KINDS)
        for resource in _RESIZED
    )


def _summary(pod: ReadOnlyObject, generation: int, error: str = "") -> str:
    """As Go writes it."""
    summary: Object = {}
    for field, one in _containers(pod):
        resources = one.get("resources") or _NOTHING
        shown = {kind: dict(sorted(resources[kind].items())) for kind in _KINDS if resources.get(kind)}
        summary.setdefault(field, []).append({"name": one["name"], "resources": shown})
    summary["generation"] = generation
    if error:
        summary["error"] = error
    return json.dumps(summary, separators=(",", ":"))


def _containers(pod: ReadOnlyObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    spec = pod["spec"]
    for field in _LISTS:
        for one in spec.get(field) or ():
            yield field, one
