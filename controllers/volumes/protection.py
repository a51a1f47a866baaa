"""Taking the protection finalizers off: from claims that no pod uses, and from volumes that no claim has.

persistentvolumeclaim-protection-controller and persistentvolume-protection-controller (pkg/controller/volume, v1.36).
Admission puts the finalizers on; objects that came before it get them here.
"""

from __future__ import annotations

from controllers import claims
from controllers.pods import node_of
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    is_being_deleted,
    key_of,
    name_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.finalizers import ensure_finalizer, remove_finalizer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def add_claim_protection(manager: Manager) -> None:
    claim_informer = manager.informer(PERSISTENT_VOLUME_CLAIMS)
    pods = claims.index_pods(manager.informer(PODS))
    reconciler = ClaimProtection(manager.api, claim_informer, pods)
    manager.add(Controller("pvcprotection", reconciler, [For(claim_informer), Watches(pods, claims_of)], workers=4))


def add_volume_protection(manager: Manager) -> None:
    volumes = manager.informer(PERSISTENT_VOLUMES)
    manager.add(Controller("pvprotection", VolumeProtection(manager.api, volumes), [For(volumes)], workers=4))


class ClaimProtection:
    def __init__(self, api: Api, claim_informer: Informer, pods: Informer) -> None:
        self._api, self._claims, self._pods = api, claim_informer, pods

    async def reconcile(self, key: ObjectKey) -> Result:
        claim = self._claims.get(key)
        if claim is None:
            return DONE
        if not is_being_deleted(claim):
            await ensure_finalizer(self._api, PERSISTENT_VOLUME_CLAIMS, claim, CLAIM_FINALIZER)
        elif not await self._is_used(claim):
            await remove_finalizer(self._api, PERSISTENT_VOLUME_CLAIMS, claim, CLAIM_FINALIZER)
        return DONE

    async def _is_used(self, claim: Object) -> bool:
        """The server has the last word: a pod that has just got its node may not be in the cache yet."""
        if any(uses(pod, claim) for pod in claims.pods_of(self._pods, key_of(claim))):
            return True
        live = await self._api.list(PODS, namespace_of(claim))
        return any(uses(pod, claim) for pod in live["items"])


class VolumeProtection:
    def __init__(self, api: Api, volumes: Informer) -> None:
        self._api, self._volumes = api, volumes

    async def reconcile(self, key: ObjectKey) -> Result:
        volume = self._volumes.get(key)
        if volume is None:
            return DONE
        if not is_being_deleted(volume):
            await ensure_finalizer(self._api, PERSISTENT_VOLUMES, volume, VOLUME_FINALIZER)
        elif (volume.get("status") or {}).get("phase") != "Bound":
            await remove_finalizer(self._api, PERSISTENT_VOLUMES, volume, VOLUME_FINALIZER)
        return DONE


def claims_of(pod: ReadOnlyObject) -> list[ObjectKey]:
    return [ObjectKey(namespace_of(pod), name) for name in claims.claim_names(pod)]


def uses(pod: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """A pod with a node uses its claims until it is gone, those of ephemeral volumes only until it has ended there."""
    if not node_of(pod):
        return False
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name_of(claim):
            return True
        is_ephemeral = "ephemeral" in volume and claims.ephemeral_claim_name(pod, volume) == name_of(claim)
        if is_ephemeral and not _is_shut_down(pod) and not claims.why_not_for_pod(pod, claim):
            return True
    return False


def _is_shut_down(pod: ReadOnlyObject) -> bool:
    """Whether its node is done with it, or is not asked: merely the object is left, which may wait for the claim."""
    return is_being_deleted(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0
