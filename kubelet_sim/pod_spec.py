"""Reads a pod object into the `PodSpec` that the simulation works with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kubelet_sim import hooks, log, probes, restarting, usage, volume_usage
from kubelet_sim.annotations import NEVER, BehaviourError
from kubelet_sim.behaviour import Behaviour, behaviour_of
from kubelet_sim.faults.influence import Influence
from kubelet_sim.state import ContainerSpec, PodSpec, Role
from kubeloop.apimachinery.meta import (
    ReadOnlyObject,
    annotations_of,
    controller_of,
    is_being_deleted,
    key_of,
    metadata,
    uid_of,
)
from kubeloop.apimachinery.times import parse_time

IsReal = Callable[[Any], bool]  # of the JSON of a container


def read(
    pod: ReadOnlyObject, init_seconds: float, influence: Influence | None = None, is_real: IsReal = lambda fields: False
) -> PodSpec:
    """`init_seconds`: how long an init container, or one of a Job, runs of which nothing is known.

    `influence`: what faults say of it.

    `is_real`: whether a container is run as a process; then nothing that is said about its behaviour counts.
    """
    spec = pod["spec"]

    def containers(field: str, role_of: Callable[[Any], Role]) -> list[ContainerSpec]:
        return [
            _real_container(fields, role_of(fields))
            if is_real(fields)
            else _container(pod, fields, role_of(fields), init_seconds, influence)
            for fields in spec.get(field) or ()
        ]

    init = containers("initContainers", _init_role)
    regular = containers("containers", lambda _: Role.REGULAR)
    debuggers = containers("ephemeralContainers", lambda _: Role.EPHEMERAL)
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
        restarts_all=restarting.is_possible(spec),
        obj=pod,
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
            log.check(container, annotations)
        except BehaviourError as error:
            errors[str(error)] = None
    pointless = (*probes.pointless(containers, annotations), *hooks.pointless(containers, annotations))
    return [*errors, *map(str, pointless), *map(str, volume_usage.errors(pod))]


def _container(
    pod: ReadOnlyObject, fields: Any, role: Role, init_seconds: float, influence: Influence | None
) -> ContainerSpec:
    default_exit_seconds = init_seconds if _is_made_to_end(pod, role) else NEVER
    behaviour = _behaviour(pod, fields, default_exit_seconds, influence)
    return ContainerSpec(fields["name"], fields.get("image") or "", role, fields, behaviour)


def _real_container(fields: Any, role: Role) -> ContainerSpec:
    behaviour = Behaviour(probes=probes.probes_of(fields, {}, 0.0))
    return ContainerSpec(fields["name"], fields.get("image") or "", role, fields, behaviour, is_real=True)


def _behaviour(pod: ReadOnlyObject, fields: Any, default_exit_seconds: float, influence: Influence | None) -> Behaviour:
    own = annotations_of(pod)
    try:
        if influence is None:
            return behaviour_of(fields, own, default_exit_seconds)
        said, since = influence.said, influence.since
        return behaviour_of(fields, influence.over(own), default_exit_seconds, late=said, since=since)
    except BehaviourError:
        return behaviour_of(fields, {}, default_exit_seconds)


def _is_made_to_end(pod: ReadOnlyObject, role: Role) -> bool:
    """Init containers are, and those of Jobs: somebody waits for them."""
    if role is Role.REGULAR:
        controller = controller_of(pod)
        return controller is not None and controller.get("kind") == "Job"
    return role is Role.INIT


def _init_role(fields: Any) -> Role:
    return Role.SIDECAR if fields.get("restartPolicy") == "Always" else Role.INIT


def _deletion_deadline(pod: ReadOnlyObject) -> datetime | None:
    return parse_time(metadata(pod)["deletionTimestamp"]) if is_being_deleted(pod) else None


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
