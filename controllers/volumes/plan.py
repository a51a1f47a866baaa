"""What the binder does about a claim or a volume. Pure; pkg/controller/volume/persistentvolume, v1.36.

A claim is settled when it carries the annotation bind-completed; until then it looks for a volume, waits, or has one
made. A volume follows its claim: Available, Bound, Released.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from controllers import claims
from controllers.volumes import migration
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    metadata,
    name_of,
    uid_of,
)
from kubeloop.apimachinery.times import parse_time

AVAILABLE, BOUND, RELEASED, FAILED = "Available", "Bound", "Released", "Failed"
PENDING, LOST = "Pending", "Lost"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"


@dataclass(frozen=True, slots=True)
class Notice:
    """An event to tell."""

    type: str
    reason: str
    message: str


# What to do about a claim.


@dataclass(frozen=True, slots=True)
class Bind:
    volume: Object


@dataclass(frozen=True, slots=True)
class Wait:
    """Pending; `notice` says for what. `is_wrong`: this should never happen, so look again with backoff."""

    notice: Notice | None = None
    is_wrong: bool = False


@dataclass(frozen=True, slots=True)
class Lose:
    notice: Notice


@dataclass(frozen=True, slots=True)
class TakeClass:
    """The claim came before there was a default class."""

    name: str


@dataclass(frozen=True, slots=True)
class Provision:
    """Whoever listens for `provisioner` is to make a volume."""

    provisioner: str
    notice: Notice


@dataclass(frozen=True, slots=True)
class Complain:
    """Nothing can be done; the claim stays as it is."""

    notice: Notice


ClaimStep = Bind | Wait | Lose | TakeClass | Provision | Complain


@dataclass(frozen=True, slots=True)
class World:
    """What a decision about a claim rests on."""

    volumes: Sequence[ReadOnlyObject]
    classes: Sequence[ReadOnlyObject] = ()
    waiting_pods: Sequence[str] = field(default=())  # names of pods without a node that use the claim

    def volume(self, name: str) -> ReadOnlyObject | None:
        return next((volume for volume in self.volumes if name_of(volume) == name), None)

    def storage_class(self, name: str) -> ReadOnlyObject | None:
        return next((one for one in self.classes if name_of(one) == name), None)


def claim_step(claim: ReadOnlyObject, world: World) -> ClaimStep:
    if claims.BIND_COMPLETED in annotations_of(claim):
        return _settled_claim(claim, world)
    return _named_volume(claim, world) if claims.volume_name(claim) else _any_volume(claim, world)


def _settled_claim(claim: ReadOnlyObject, world: World) -> ClaimStep:
    name = claims.volume_name(claim)
    if not name:
        message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return Lose(Notice("Warning", "ClaimLost", message))
    volume = world.volume(name)
    if volume is None:
        message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        return Lose(Notice("Warning", "ClaimLost", message))
    reference = claims.claim_ref(volume)
    if reference is None or reference.get("uid") == uid_of(claim):
        return Bind(dict(volume))
    message = "Two claims are bound to the same volume, this one is bound incorrectly"
    return Lose(Notice("Warning", "ClaimMisbound", message))


def _named_volume(claim: ReadOnlyObject, world: World) -> ClaimStep:
    volume = world.volume(claims.volume_name(claim))
    if volume is None:
        return Wait()
    if claims.claim_ref(volume) is None:
        mismatch = _mismatch(volume, claim)
        if not mismatch:
            return Bind(dict(volume))
        message = f"Cannot bind to requested volume {go_quote(name_of(volume))}: {mismatch}"
        return Wait(Notice("Warning", "VolumeMismatch", message))
    if claims.is_kept_for(volume, claim):
        return Bind(dict(volume))
    message = f"volume {go_quote(name_of(volume))} already bound to a different claim."
    is_wrong = claims.BOUND_BY_CONTROLLER in annotations_of(claim)
    return Wait(Notice("Warning", "FailedBinding", message), is_wrong)


def _any_volume(claim: ReadOnlyObject, world: World) -> ClaimStep:
    storage_class = world.storage_class(claims.class_of(claim))
    is_delayed = claims.is_delayed(storage_class)
    volume = claims.find_match(claim, world.volumes, is_delayed=is_delayed)
    if volume is not None:
        return Bind(volume)
    default = default_class(world.classes)
    if default is not None and not claims.has_class(claim):
        return TakeClass(name_of(default))
    if is_delayed and claims.SELECTED_NODE not in annotations_of(claim):
        return Wait(_waits_for_pod(world.waiting_pods))
    if not claims.class_of(claim):
        message = "no persistent volumes available for this claim and no storage class is set"
        return Wait(Notice("Normal", "FailedBinding", message))
    if storage_class is None:
        message = f"storageclass.storage.k8s.io {go_quote(claims.class_of(claim))} not found"
        return Complain(Notice("Warning", "ProvisioningFailed", message))
    return _provision(storage_class["provisioner"])


def _provision(provisioner: str) -> ClaimStep:
    """Provisioners are outside of the binder; those of Kubernetes' own name are all gone from it, most to drivers."""
    provisioner = migration.driver_for(provisioner) or provisioner
    if provisioner.startswith("kubernetes.io/"):
        return Complain(Notice("Warning", "ProvisioningFailed", "no volume plugin matched"))
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the"
        " system administrator. If volume creation is delayed, please verify that the provisioner is running and"
        " correctly registered."
    )
    return Provision(provisioner, Notice("Normal", "ExternalProvisioning", message))


def _waits_for_pod(pods: Sequence[str]) -> Notice:
    if not pods:
        return Notice("Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    who = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
    return Notice("Normal", "WaitForPodScheduled", f"waiting for {who} to be scheduled")


def _mismatch(volume: ReadOnlyObject, claim: ReadOnlyObject) -> str:
    """Why a claim cannot have the volume it names; "" where it can."""
    reasons = (
        (is_being_deleted(volume), f"the volume is marked for deletion {go_quote(name_of(volume))}"),
        (claims.capacity(volume).value() < claims.requested(claim).value(), "requested PV is too small"),
        (claims.class_of(volume) != claims.class_of(claim), "storageClassName does not match"),
        (claims.attributes_class(volume) != claims.attributes_class(claim), "volumeAttributesClassName does not match"),
        (claims.volume_mode(volume) != claims.volume_mode(claim), "incompatible volumeMode"),
        (not claims.offers_modes(volume, claim), "incompatible accessMode"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def default_class(classes: Iterable[ReadOnlyObject]) -> ReadOnlyObject | None:
    """The newest of those marked as default; of equally old ones the first by name."""
    marked = [one for one in classes if _is_default(one)]
    by_name = sorted(marked, key=name_of)
    return max(by_name, key=lambda one: parse_time(metadata(one)["creationTimestamp"]), default=None)


def _is_default(storage_class: ReadOnlyObject) -> bool:
    annotations = annotations_of(storage_class)
    return "true" in (annotations.get(_DEFAULT_CLASS), annotations.get(_BETA_DEFAULT_CLASS))


# What to do about a volume.


@dataclass(frozen=True, slots=True)
class Become:
    phase: str


@dataclass(frozen=True, slots=True)
class WakeClaim:
    """The claim does not know yet of the volume that is kept for it."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Volume and claim do not go together."""

    of_volume: Notice
    of_claim: Notice


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Its claim is gone, or has got another one."""


@dataclass(frozen=True, slots=True)
class Unbind:
    """The claim it was to have has got another volume."""


VolumeStep = Become | WakeClaim | Refuse | Reclaim | Unbind


def volume_step(volume: ReadOnlyObject, claim: ReadOnlyObject | None) -> VolumeStep:
    """`claim`: the one that the volume's reference names, if it is there under that uid."""
    reference = claims.claim_ref(volume)
    if reference is None or not reference.get("uid"):
        return Become(AVAILABLE)
    if claim is None:
        return Reclaim()
    wanted = claims.volume_name(claim)
    if not wanted:
        return WakeClaim() if claims.volume_mode(volume) == claims.volume_mode(claim) else _modes_differ(volume, claim)
    if wanted == name_of(volume):
        return Become(BOUND)
    is_made_for_it = claims.PROVISIONED_BY in annotations_of(volume) and policy_of(volume) == "Delete"
    return Reclaim() if is_made_for_it else Unbind()


def _modes_differ(volume: ReadOnlyObject, claim: ReadOnlyObject) -> Refuse:
    about_claim, about_volume = go_quote(name_of(claim)), go_quote(name_of(volume))
    return Refuse(
        Notice(
            "Warning",
            "VolumeMismatch",
            f"Cannot bind PersistentVolume to requested PersistentVolumeClaim {about_claim} due to incompatible"
            " volumeMode.",
        ),
        Notice(
            "Warning",
            "VolumeMismatch",
            f"Cannot bind PersistentVolume {about_volume} to requested PersistentVolumeClaim due to incompatible"
            " volumeMode.",
        ),
    )


def policy_of(volume: ReadOnlyObject) -> str:
    return (volume.get("spec") or {}).get("persistentVolumeReclaimPolicy") or ""


def unbound(volume: ReadOnlyObject) -> Object:
    """The volume given up: free for anybody if we had bound it, else kept for the claim's name as it was before."""
    spec = dict(volume["spec"])
    if claims.BOUND_BY_CONTROLLER not in annotations_of(volume):
        return {**volume, "spec": {**spec, "claimRef": {k: v for k, v in spec["claimRef"].items() if k != "uid"}}}
    spec.pop("claimRef", None)
    kept = {key: value for key, value in annotations_of(volume).items() if key != claims.BOUND_BY_CONTROLLER}
    return {**volume, "metadata": {**volume["metadata"], "annotations": kept}, "spec": spec}


# The statuses.


def claimed(claim: ReadOnlyObject, volume: ReadOnlyObject) -> Object:
    """The claim with its volume's name in it, settled."""
    annotations = {claims.BIND_COMPLETED: "yes"}
    if claims.volume_name(claim) != name_of(volume):
        annotations[claims.BOUND_BY_CONTROLLER] = "yes"
    spec = {**claim["spec"], "volumeName": name_of(volume)}
    return {**claim, "metadata": claims.with_annotations(claim, annotations), "spec": spec}


def bound_status(claim: ReadOnlyObject, volume: ReadOnlyObject) -> Object:
    """The claim's status with its volume. The size is taken over once: later it is the expander's."""
    status: Object = {**(claim.get("status") or {}), "phase": BOUND, "accessModes": list(claims.access_modes(volume))}
    if (claim.get("status") or {}).get("phase") != BOUND:
        status["capacity"] = dict(volume["spec"]["capacity"])
    if (claim.get("status") or {}).get("phase") == PENDING and claims.attributes_class(volume):
        status["currentVolumeAttributesClassName"] = claims.attributes_class(volume)
    return status


def status_without_volume(claim: ReadOnlyObject, phase: str) -> Object:
    gone = ("accessModes", "capacity", "currentVolumeAttributesClassName")
    kept = {key: value for key, value in (claim.get("status") or {}).items() if key not in gone}
    return {**kept, "phase": phase}
