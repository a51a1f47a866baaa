"""What a node's container runtime remembers of a pod, and the pod's spec as the simulation reads it.

Values that never change: `transitions` makes the next from the last, `recovery` makes them anew from a pod's status,
`pod_status` writes them down as a status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from kubelet_sim.behaviour import Behaviour
from kubelet_sim.commands import WELL_AT_ONCE
from kubelet_sim.probes import Kind
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, name_of, namespace_of, uid_of

NOTHING: Mapping[Any, Any] = MappingProxyType({})


class State(StrEnum):
    """Where a container stands. RUNNING shows as running, EXITED as terminated, all others as waiting.

    CREATING: the postStart hook runs, or the process of a container that really runs is about to start.
    HOOK_FAILED: the hook has failed, and the container is being killed.
    """

    WAITING = "waiting"
    PULLING = "pulling"
    PULL_FAILED = "pull failed"
    PULL_BACKOFF = "pull backoff"
    IMAGE_ERROR = "image error"
    CONFIG_ERROR = "config error"
    CREATING = "creating"
    HOOK_FAILED = "hook failed"
    RUNNING = "running"
    EXITED = "exited"
    CRASH_BACKOFF = "crash backoff"
    RESET = "reset"


class Pull(StrEnum):
    """How far the image of an `image` volume is. REFUSED: it is not even asked for, and never will be."""

    AHEAD = "ahead"
    UNDER_WAY = "under way"
    FAILED = "failed"
    BACKOFF = "backoff"
    REFUSED = "refused"
    DONE = "done"


UP = (State.CREATING, State.HOOK_FAILED, State.RUNNING)  # something of the container may be alive


class Role(StrEnum):
    INIT = "init"
    SIDECAR = "sidecar"
    REGULAR = "regular"
    EPHEMERAL = "ephemeral"


FIELDS = {
    Role.INIT: "initContainers",
    Role.SIDECAR: "initContainers",
    Role.REGULAR: "containers",
    Role.EPHEMERAL: "ephemeralContainers",
}
STATUS_FIELDS = {
    Role.INIT: "initContainerStatuses",
    Role.SIDECAR: "initContainerStatuses",
    Role.REGULAR: "containerStatuses",
    Role.EPHEMERAL: "ephemeralContainerStatuses",
}


class ContainerSpec(NamedTuple):
    """A container of the pod's spec; `fields` is its JSON. `is_real`: it is a process, and what happens to it is
    observed (observations.py) instead of foreseen.
    """

    name: str
    image: str
    role: Role
    fields: Mapping[str, Any]
    behaviour: Behaviour
    is_real: bool = False

    @property
    def mounted(self) -> frozenset[str]:
        """The names of the volumes that it mounts."""
        return frozenset(mount["name"] for mount in self.fields.get("volumeMounts") or ())

    @property
    def is_never_pulled(self) -> bool:
        """Its image is to be on the node already. Nobody looks at the image of what is real."""
        return not self.is_real and self.fields.get("imagePullPolicy") == "Never"

    @property
    def is_always_pulled(self) -> bool:
        """Before every start, also where the node has its image."""
        return not self.is_real and self.fields.get("imagePullPolicy") == "Always"

    @property
    def is_created_first(self) -> bool:
        """Whether its start takes time."""
        return self.is_real or self.behaviour.post_start != WELL_AT_ONCE


class PodSpec(NamedTuple):
    """`containers`: init containers and sidecars first, ephemeral ones last, each kind in the order of the spec."""

    key: ObjectKey
    uid: str
    containers: tuple[ContainerSpec, ...]
    restart_policy: str
    grace_seconds: float
    deadline_seconds: float | None = None
    deletion_deadline: datetime | None = None  # the deletionTimestamp: when the last grace is over
    deletion_grace_seconds: float = 0
    phase: str = ""  # what the API says; a terminal one is never left again
    restarts_all: bool = False  # a container may have the whole pod start anew
    obj: ReadOnlyObject = NOTHING  # what was read

    @property
    def title(self) -> str:
        return pod_title(self.obj)

    @property
    def has_init_containers(self) -> bool:
        return self.containers[0].role is not Role.REGULAR


def pod_title(pod: ReadOnlyObject) -> str:
    """As a kubelet names a pod in messages."""
    return f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"


class Run(NamedTuple):
    """One run of a container; it is over when `finished_at` is set."""

    id: str
    image: str
    started_at: datetime | None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    hook_error: str = ""  # it ended because its postStart hook had failed


@dataclass(frozen=True, slots=True)
class Probed:
    """What the checks of a probe have come to in this run: a result, since when, and the last check with how often it
    came out so. `next_seconds`: when the next check begins, counted from the container's start; None before the first.
    """

    result: bool | None = None
    since: datetime | None = None
    last: bool | None = None
    in_a_row: int = 0
    next_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StopOrder:
    """A container is to stop while its pod goes on. `grace_seconds`: None: as long as the pod's."""

    at: datetime
    grace_seconds: float | None
    is_restarted: bool  # whatever its exit code


class Container(NamedTuple):
    """`run` is the current or latest run, `last_run` the one before; `crashes` counts restarts not yet forgiven.

    `probed` and `stop_order` are of the current or latest run.
    """

    name: str
    state: State = State.WAITING
    since: datetime | None = None
    run: Run | None = None
    last_run: Run | None = None
    restarts: int = 0
    crashes: int = 0
    pull_failures: int = 0
    image: str = ""  # the image that is pulled, or has been
    has_image: bool = False  # it was on the node already
    probed: Mapping[Kind, Probed] = NOTHING
    stop_order: StopOrder | None = None
    resources: Mapping[str, Any] | None = None  # what it runs with, where that is not what is allocated


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why the node ended the pod as Failed."""

    reason: str
    message: str
    grace_seconds: float | None = None  # None: the pod's own
    disruption: str = ""  # what a condition says of it, too: others may try again
    # It is said anew with every status: the pod is unready at once, and Failed however its containers end.
    is_lasting: bool = False
    generation: int = 0  # of the pod that it is about
    annotations: Mapping[str, str] = field(default_factory=dict)  # of the event that tells of it


@dataclass(frozen=True, slots=True)
class Resizing:
    """Resources were allocated that the containers do not have yet. `pod_before`: what the pod as a whole had."""

    generation: int
    since: datetime
    pod_before: Mapping[str, Any]


class VolumeImage(NamedTuple):
    """Of the volume `name`. `since`: when it came so far."""

    name: str
    reference: str
    policy: str
    pull: Pull
    since: datetime | None = None
    failures: int = 0

    @property
    def is_tried(self) -> bool:
        return self.pull not in (Pull.AHEAD, Pull.UNDER_WAY)


class Complaint(NamedTuple):
    """What keeps the pod from starting, as it was told last, and when it is told again."""

    what: frozenset[str]
    pause_seconds: float
    due: datetime


class PodRuntime(NamedTuple):
    """`containers` are in the order of `PodSpec.containers`. `stopping_since`: the pod is to end."""

    uid: str
    arrived_at: datetime
    containers: tuple[Container, ...] = ()
    pull_seconds: float = 0
    images: frozenset[str] = frozenset()  # on the node (images.reference)
    ip: str = ""
    host_ip: str = ""
    stopping_since: datetime | None = None
    restarting_since: datetime | None = None  # all its containers are to start anew
    rebooted_at: datetime | None = None  # the last time that its node was up again, as far as the pod has felt it
    verdict: Verdict | None = None
    is_rejected: bool = False
    sandbox_error: str = ""  # why it will never have a sandbox
    mount_errors: tuple[str, ...] = ()
    device_error: str = ""  # why it cannot have the devices it claims
    missing_pull_secrets: tuple[str, ...] = ()
    unattached: tuple[str, ...] = ()  # volumes that are waited for
    claim_problem: str = ""  # why one of them cannot be had
    volume_images: tuple[VolumeImage, ...] = ()
    complaint: Complaint | None = None
    # Container name -> resources; those of the pod as a whole are allocation.POD's.
    allocated: Mapping[str, Mapping[str, Any]] = NOTHING
    resize_pending: Verdict | None = None
    resizing: Resizing | None = None
    config_errors: Mapping[str, str] = NOTHING  # container name -> message

    def with_debuggers(self, pod: PodSpec) -> PodRuntime:
        """Ephemeral containers come later than the pod."""
        new = (Container(spec.name) for spec in pod.containers[len(self.containers) :])
        return self._replace(containers=(*self.containers, *new))

    @property
    def has_unstarted(self) -> bool:
        return any(container.run is None for container in self.containers)

    @property
    def may_start(self) -> bool:
        """Its volumes are there, but for images, and so are its devices; and it can have its name."""
        return not (self.mount_errors or self.unattached or self.device_error or self.sandbox_error)

    @property
    def starts_nothing(self) -> bool:
        """The pod is to end, or nothing of it may run before all of it starts anew."""
        return self.stopping_since is not None or self.restarting_since is not None

    @property
    def is_running(self) -> bool:
        return any(container.state in UP for container in self.containers)


class Happening(NamedTuple):
    """Something people are told of as an Event; about a container where `container` is set."""

    event_type: str
    reason: str
    message: str
    container: ContainerSpec | None = None
    annotations: Mapping[str, str] = NOTHING  # of the Event

    @property
    def field_path(self) -> str:
        if self.container is None:
            return ""
        return f"spec.{FIELDS[self.container.role]}{{{self.container.name}}}"
