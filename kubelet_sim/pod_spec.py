"""Reads a pod object into the `PodSpec` that the simulation works with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubelet_sim import probes, usage
from kubelet_sim.annotations import NEVER, BehaviourError
from kubelet_sim.behaviour import Behaviour, behaviour_of
from kubelet_sim.state import ContainerSpec, PodSpec, Role
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, is_being_deleted, key_of, metadata, uid_of
from kubeloop.apimachinery.times import parse_time


def read(pod: ReadOnlyObject, init_seconds: float) -> PodSpec:
    """`init_seconds`: how long an init container runs of which nothing is said."""
    spec = pod["spec"]
    init = [_container(pod, fields, _init_role(fields), init_seconds) for fields in spec.get("initContainers") or ()]
    regular = [_container(pod, fields, Role.REGULAR, init_seconds) for fields in spec["containers"]]
    ephemeral = spec.get("ephemeralContainers")
    debuggers = [_container(pod, fields, Role.EPHEMERAL, init_seconds) for fields in ephemeral] if ephemeral else ()
    meta = metadata(pod)
    return PodSpec(
        key=key_of(pod),
        uid=uid_of(pod),
        containers=(*init, *regular, *debuggers),
        restart_policy=spec.get("restartPolicy") or "Always",
        grace_seconds=_or(spec.get("terminationGracePeriodSeconds"), 30),
        deadline_seconds=spec.get("activeDeadlineSeconds"),
        deletion_deadline=_deletion_deadline(pod),
        deletion_grace_seconds=_or(meta.get("deletionGracePeriodSeconds"), 0),
        phase=(pod.get("status") or {}).get("phase") or "",
    )


def annotation_errors(pod: ReadOnlyObject) -> list[str]:
    """What is wrong with the pod's behaviour annotations; such a container behaves as if it had none."""
    annotations = annotations_of(pod)
    if not annotations:
        return []
    containers = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    errors: dict[str, None] = {}
    for container in containers:
        try:
            behaviour_of(container, annotations)
            usage.check(container, annotations)
        except BehaviourError as error:
            errors[str(error)] = None
    return [*errors, *map(str, probes.pointless(containers, annotations))]


def _container(pod: ReadOnlyObject, fields: Any, role: Role, init_seconds: float) -> ContainerSpec:
    default_exit_seconds = init_seconds if role is Role.INIT else NEVER
    return ContainerSpec(
        fields["name"], fields.get("image") or "", role, fields, _behaviour(pod, fields, default_exit_seconds)
    )


def _behaviour(pod: ReadOnlyObject, fields: Any, default_exit_seconds: float) -> Behaviour:
    try:
        return behaviour_of(fields, annotations_of(pod), default_exit_seconds)
    except BehaviourError:
        return behaviour_of(fields, {}, default_exit_seconds)


def _init_role(fields: Any) -> Role:
    return Role.SIDECAR if fields.get("restartPolicy") == "Always" else Role.INIT


def _deletion_deadline(pod: ReadOnlyObject) -> datetime | None:
    return parse_time(metadata(pod)["deletionTimestamp"]) if is_being_deleted(pod) else None


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
