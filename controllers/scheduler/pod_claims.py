"""The claims of a pod as the volume plugins ask for them, and what they say where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controllers.claims import ephemeral_claim_name
from controllers.scheduler.events import Hint
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One volume of a pod that is a claim; an ephemeral one is made for this pod alone."""

    key: ObjectKey
    is_ephemeral: bool = False

    @property
    def missing(self) -> str:
        return f"persistentvolumeclaim {go_quote(self.key.name)} not found"


def pod_claims(pod: PodInfo) -> Iterator[PodClaim]:
    for volume in pod.spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield PodClaim(ObjectKey(pod.namespace, volume["persistentVolumeClaim"]["claimName"]))
        elif "ephemeral" in volume:
            yield PodClaim(ObjectKey(pod.namespace, ephemeral_claim_name(pod.pod, volume)), is_ephemeral=True)


def missing_volume(name: str) -> str:
    return f"persistentvolume {go_quote(name)} not found"


def missing_class(name: str) -> str:
    return f"storageclass.storage.k8s.io {go_quote(name)} not found"


def if_claimed(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """The hint about a claim that came or changed: only pods that use it care."""
    if new is None:
        return Hint.SKIP
    return Hint.QUEUE if any(claim.key == key_of(new) for claim in pod_claims(pod)) else Hint.SKIP


def if_mounted(pod: PodInfo, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> Hint:
    """The same, for plugins that do not look at ephemeral volumes."""
    return Hint.QUEUE if new is not None and key_of(new) in pod.claim_keys else Hint.SKIP
